--- @include "push_waiting"
--- @include "wake_workers"
--- @include "join_group"

-- Puts a stored job into `waiting` by the priority rule, says so in its status and wakes the workers of its type. `job` is its
-- table or its text.
local function requeue_job(id, kind, high, job)
  push_waiting(id, high)
  join_group(id, job)
  redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
  wake_workers(kind)
end
