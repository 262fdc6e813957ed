-- rescue: put a job back that a foreign worker lost: it is active without a living owner, or in no structure at all.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  case
-- ARGV 6  id
-- ARGV 7  expected
-- ARGV 8  max_recoveries
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream {ns}:workers:heartbeat:{serverId}
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- GIVES id, type and what became of it, or nothing when the job is in good hands
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "recover_job"
--- @include "read_job"
--- @include "requeue_job"
--- @include "is_high"
--- @include "append_event"
--- @include "type_body"

local id, expected = ARGV[6], ARGV[7]
local lock, active = ns .. 'jobs:lock:' .. id, ns .. 'jobs:active'
redis.call('LLEN', KEYS[1])
redis.call('SCARD', active)
redis.call('XLEN', ns .. 'events:stream')
local owner = redis.call('GET', lock)
if ARGV[5] == 'active' then
  -- `expected` is the owner who was found dead; empty when there was no lock.
  if (owner or '') ~= expected then return {} end
  if owner and redis.call('EXISTS', ns .. 'workers:heartbeat:' .. owner) == 1 then return {} end
  if redis.call('SREM', active, id) == 0 then return {} end
  redis.call('DEL', lock)
  redis.call('HDEL', ns .. 'x:claimed', id)
  local kind, became = recover_job(id, tonumber(ARGV[8]))
  return { id, kind, became }
end
local text = redis.call('GET', ns .. 'jobs:data:' .. id)
local job = text and read_job(text)
if owner or not job or redis.call('GET', ns .. 'jobs:status:' .. id) ~= expected then return {} end
local held = redis.call('SISMEMBER', active, id) == 1 or redis.call('ZSCORE', ns .. 'jobs:delayed', id)
  or redis.call('ZSCORE', ns .. 'jobs:cron', id) or redis.call('SISMEMBER', ns .. 'x:parked', id) == 1
  or redis.call('LPOS', KEYS[1], id)
if held then return {} end
append_event('orphan_requeued', id, type_body(job.type))
requeue_job(id, job.type, is_high(job))
return { id, job.type, 'waiting' }
