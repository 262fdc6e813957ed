-- release_lock: gives a job's lock back, if the caller still owns it.
-- KEYS 1 lock        {ns}:jobs:lock:{jobId}
-- KEYS 2 active      {ns}:jobs:active
-- KEYS 3 concurrent  {ns}:ratelimit:concurrent:{jobType}
-- ARGV 1 workerId
-- ARGV 2 jobId
-- GIVES 1, or 0 when somebody else owns the lock and nothing was changed

local lock, active, concurrent = KEYS[1], KEYS[2], KEYS[3]
local worker, id = ARGV[1], ARGV[2]

if redis.call('GET', lock) ~= worker then return 0 end
redis.call('DEL', lock)
redis.call('SREM', active, id)
if tonumber(redis.call('GET', concurrent) or 0) > 0 then
  redis.call('DECR', concurrent)
end
return 1
