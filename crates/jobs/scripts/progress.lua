-- progress: write how far a job is, if the worker still owns it.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  worker
-- ARGV 2  id
-- ARGV 3  text
-- BUILDS {ns}:jobs:lock:{jobId} {ns}:jobs:progress:{jobId} {ns}:x:progress
-- GIVES written | lost
local ns, worker, id, text = string.sub(KEYS[1], 1, -13), ARGV[1], ARGV[2], ARGV[3]
if redis.call('GET', ns .. 'jobs:lock:' .. id) ~= worker then return 'lost' end
redis.call('SET', ns .. 'jobs:progress:' .. id, text)
redis.call('PUBLISH', ns .. 'x:progress', id .. ' ' .. text)
return 'written'
