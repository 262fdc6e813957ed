--- @include "read_job"
--- @include "follows"

-- A parked job leaves its sequence: whoever follows it now follows what it waited for.
local function close_ranks(id, job)
  if not job or type(job.x) ~= 'table' or type(job.x.sequence) ~= 'string' then return end
  local unmet = redis.call('SMEMBERS', ns .. 'x:deps:' .. id)
  for _, child in ipairs(redis.call('SMEMBERS', ns .. 'x:children:' .. id)) do
    local text = redis.call('GET', ns .. 'jobs:data:' .. child)
    local next_job = text and read_job(text)
    if next_job and follows(next_job, id) then
      for _, parent in ipairs(unmet) do
        redis.call('SADD', ns .. 'x:deps:' .. child, parent)
        redis.call('SADD', ns .. 'x:children:' .. parent, child)
      end
    end
  end
end
