--- @include "read_job"

-- Enters a job that comes into the list again into the line of its group, if it has one. `job` is its table or its text. A claim
-- enters what it meets, so a key of another type there costs a turn and nothing else.
local function join_group(id, job)
  if type(job) == 'string' then job = string.find(job, '"group"', 1, true) and read_job(job) end
  local group = type(job) == 'table' and type(job.x) == 'table' and job.x.group
  if type(group) ~= 'string' or group == '' then return end
  --- @include "group_line"
  pcall(enter, id, group)
end
