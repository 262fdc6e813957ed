-- Puts a job that was not run to its end back to the front, as if it had not been claimed.
local function hand_back(id, kind, flags)
  --- @include "drop_progress"
  --- @include "wake_workers"
  if string.find(flags, 'p', 1, true) then drop_progress(id) end
  redis.call('LPUSH', KEYS[1], id)
  redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
  wake_workers(kind)
end
