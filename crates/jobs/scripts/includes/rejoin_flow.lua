--- @include "is_flow"

-- A job that was put back is waited for again, as long as its parent in the flow waits; its own children are known for longer.
local function rejoin_flow(id, job)
  if not is_flow(job) then return end
  redis.call('PERSIST', ns .. 'x:flow:' .. id)
  local parent = job.x.parent
  if type(parent) ~= 'string' or redis.call('SISMEMBER', ns .. 'x:parked', parent) == 0 then return end
  redis.call('SADD', ns .. 'x:deps:' .. parent, id)
  redis.call('SADD', ns .. 'x:children:' .. id, parent)
  redis.pcall('HDEL', ns .. 'x:flow:' .. parent, id)
end
