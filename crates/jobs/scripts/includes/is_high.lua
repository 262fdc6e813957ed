-- Whether a job goes to the front (seed 004: priority 7 and more).
local function is_high(job)
  return type(job.priority) == 'number' and job.priority >= 7
end
