-- prune_marks: forget the marks of jobs that a foreign program ended, which does not know of them. Looks at some of them, by chance.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  most
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:lock:{jobId} {ns}:jobs:active
-- BUILDS {ns}:x:cancelled {ns}:x:recoveries {ns}:x:sequences
-- GIVES how many were forgotten
local ns, most, forgotten = string.sub(KEYS[1], 1, -13), ARGV[1], 0
local active, cancelled, recoveries = ns .. 'jobs:active', ns .. 'x:cancelled', ns .. 'x:recoveries'
local sequences = ns .. 'x:sequences'
-- All are read before anything is written: a key of another type ends the step here.
local asked, rescued = redis.call('SRANDMEMBER', cancelled, most), redis.call('HRANDFIELD', recoveries, most)
local last_ones = redis.call('HRANDFIELD', sequences, most)

-- A cancellation is for a job that runs.
for _, id in ipairs(asked) do
  if redis.call('SISMEMBER', active, id) == 0 and redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 0 then
    forgotten = forgotten + redis.call('SREM', cancelled, id)
  end
end
-- How often its workers died matters until the job is over.
local over = { completed = true, failed = true, dead = true }
for _, id in ipairs(rescued) do
  local status = redis.pcall('GET', ns .. 'jobs:status:' .. id)
  if over[status] or (not status and redis.call('EXISTS', ns .. 'jobs:data:' .. id) == 0) then
    forgotten = forgotten + redis.call('HDEL', recoveries, id)
  end
end
-- A sequence whose last job is over begins anew.
for _, sequence in ipairs(last_ones) do
  local status = redis.pcall('GET', ns .. 'jobs:status:' .. redis.call('HGET', sequences, sequence))
  if not status or over[status] then forgotten = forgotten + redis.call('HDEL', sequences, sequence) end
end
return forgotten
