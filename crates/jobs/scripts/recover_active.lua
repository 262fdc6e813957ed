-- recover_active: take back a job that is active without a living owner, as a foreign worker leaves it.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  id
-- ARGV 6  expected_owner
-- ARGV 7  max_recoveries
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream {ns}:workers:heartbeat:{serverId}
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- BUILDS {ns}:x:cron_failed {ns}:x:index {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES id, type and what became of it, or nothing when the job is in good hands
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "recover_job"

local id, expected_owner = ARGV[5], ARGV[6]
local lock, active = ns .. 'jobs:lock:' .. id, ns .. 'jobs:active'
redis.call('LLEN', KEYS[1])
redis.call('SCARD', active)
redis.call('XLEN', ns .. 'events:stream')
local owner = redis.call('GET', lock)
-- The owner is still the one who was found dead; empty when there was no lock.
if (owner or '') ~= expected_owner then return {} end
if owner and redis.call('EXISTS', ns .. 'workers:heartbeat:' .. owner) == 1 then return {} end
if redis.call('SREM', active, id) == 0 then return {} end
redis.call('DEL', lock)
redis.call('HDEL', ns .. 'x:claimed', id)
local kind, became = recover_job(id, tonumber(ARGV[7]))
return { id, kind, became }
