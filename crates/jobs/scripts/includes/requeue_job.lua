--- @include "push_waiting"
--- @include "wake_workers"

-- Puts a stored job into `waiting` by the priority rule, says so in its status and wakes the workers of its type.
local function requeue_job(id, kind, high)
  push_waiting(id, high)
  redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
  wake_workers(kind)
end
