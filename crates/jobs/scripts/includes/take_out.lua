--- @include "count_running"
--- @include "close_ranks"
--- @include "unpark_job"

-- Takes a job out of every structure that may hold it.
local function take_out(id, status, job)
  if status == 'waiting' then
    if redis.call('SISMEMBER', ns .. 'x:parked', id) == 1 then
      close_ranks(id, job)
      unpark_job(id)
    else
      redis.call('LREM', KEYS[1], 0, id)
    end
  end
  if status == 'dead' then redis.call('LREM', ns .. 'jobs:deadletter', -1, id) end
  redis.call('ZREM', ns .. 'jobs:delayed', id)
  if redis.call('ZREM', ns .. 'jobs:cron', id) == 1 then redis.call('HDEL', ns .. 'x:cron_failed', id) end
  if status ~= 'active' then return end
  -- The late result of its worker finds no lock and writes nothing.
  redis.call('DEL', ns .. 'jobs:lock:' .. id)
  redis.call('HDEL', ns .. 'x:claimed', id)
  redis.call('SREM', ns .. 'x:cancelled', id)
  if redis.call('SREM', ns .. 'jobs:active', id) == 1 and job then count_running(job.type, -1) end
  redis.call('PUBLISH', ns .. 'x:cancel', id)
end
