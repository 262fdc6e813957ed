-- repair_status: make a job's state say where the job is, if it is still there and says something else.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  id
-- ARGV 2  place
-- ARGV 3  said
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:deadletter
-- BUILDS {ns}:x:parked
-- GIVES done | unchanged
local ns, id, place, said = string.sub(KEYS[1], 1, -13), ARGV[1], ARGV[2], ARGV[3]
local status, there, word = ns .. 'jobs:status:' .. id, false, place
if place == 'waiting' then
  there = redis.call('LPOS', KEYS[1], id)
elseif place == 'dead' then
  there = redis.call('LPOS', ns .. 'jobs:deadletter', id)
elseif place == 'delayed' then
  there = redis.call('ZSCORE', ns .. 'jobs:delayed', id)
elseif place == 'parked' then
  there, word = redis.call('SISMEMBER', ns .. 'x:parked', id) == 1, 'waiting'
else
  there = redis.call('SISMEMBER', ns .. 'jobs:active', id) == 1
end
local says = redis.call('GET', status)
if not there or (says or '') ~= said or says == word then return 'unchanged' end
if redis.call('EXISTS', ns .. 'jobs:data:' .. id) == 0 then return 'unchanged' end
redis.call('SET', status, word)
redis.call('PERSIST', ns .. 'jobs:data:' .. id)
return 'done'
