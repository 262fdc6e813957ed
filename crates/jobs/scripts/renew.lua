-- renew: prolong the leases of jobs that a worker still owns.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  worker
-- ARGV 3  ttl
-- ARGV 4.. ids
-- BUILDS {ns}:jobs:lock:{jobId} {ns}:x:leases {ns}:x:cancelled
-- GIVES a number per job: 1 renewed, 2 renewed and its cancellation was asked for, 0 lost
local ns, now, worker, ttl = string.sub(KEYS[1], 1, -13), ARGV[1], ARGV[2], ARGV[3]
local leases, cancelled = ns .. 'x:leases', ns .. 'x:cancelled'
local until_ms = string.format('%.0f', tonumber(now) + ttl * 1000)
redis.call('ZCARD', leases)
local asked, answers = redis.call('EXISTS', cancelled) == 1, {}
for at = 4, #ARGV do
  local id, lock = ARGV[at], ns .. 'jobs:lock:' .. ARGV[at]
  if redis.pcall('GET', lock) == worker then
    redis.call('EXPIRE', lock, ttl)
    redis.call('ZADD', leases, until_ms, id)
    answers[#answers + 1] = asked and redis.call('SISMEMBER', cancelled, id) == 1 and 2 or 1
  else
    answers[#answers + 1] = 0
  end
end
return answers
