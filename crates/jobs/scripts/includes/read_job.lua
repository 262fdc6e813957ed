-- A stored text as a table; nothing when no worker could run it.
local function read_job(text)
  local fine, job = pcall(cjson.decode, text)
  if fine and type(job) == 'table' and type(job.type) == 'string' and job.type ~= '' then return job end
end
