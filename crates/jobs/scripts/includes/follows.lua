-- Whether a job waits for `dependency` only because both have a sequence: however that one ends, it goes on.
local function follows(job, dependency)
  if type(job.x) ~= 'table' or type(job.x.sequence) ~= 'string' then return false end
  for _, id in ipairs(type(job.dependsOn) == 'table' and job.dependsOn or {}) do
    if id == dependency then return false end
  end
  return true
end
