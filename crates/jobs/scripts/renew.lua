-- renew: prolong the locks of jobs that a worker still owns.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  worker
-- ARGV 2  ttl
-- ARGV 3.. ids
-- BUILDS {ns}:jobs:lock:{jobId} {ns}:x:cancelled
-- GIVES a number per job: 1 renewed, 2 renewed and its cancellation was asked for, 0 lost
local ns, worker, ttl = string.sub(KEYS[1], 1, -13), ARGV[1], ARGV[2]
local cancelled = ns .. 'x:cancelled'
local asked, answers = redis.call('SCARD', cancelled) > 0, {}
for at = 3, #ARGV do
  local id, lock = ARGV[at], ns .. 'jobs:lock:' .. ARGV[at]
  if redis.pcall('GET', lock) == worker then
    redis.call('EXPIRE', lock, ttl)
    answers[#answers + 1] = asked and redis.call('SISMEMBER', cancelled, id) == 1 and 2 or 1
  else
    answers[#answers + 1] = 0
  end
end
return answers
