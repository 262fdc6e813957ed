-- requeue_orphan: put a job back that is in no structure at all, as a foreign worker that dies leaves it. One that depends on others is parked again, and looked at soon.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  id
-- ARGV 4  expected_status
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:lock:{jobId} {ns}:jobs:active {ns}:jobs:delayed
-- BUILDS {ns}:jobs:cron {ns}:events:stream {ns}:x:parked {ns}:x:deps:{jobId}
-- BUILDS {ns}:x:children:{jobId} {ns}:x:wake
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES id, type and what became of it, or nothing when the job is in good hands
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, id, expected_status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "append_event"
--- @include "type_body"
--- @include "read_job"
--- @include "is_high"
--- @include "requeue_job"
--- @include "park_job"

redis.call('LLEN', KEYS[1])
redis.call('XLEN', ns .. 'events:stream')
local text = redis.call('GET', ns .. 'jobs:data:' .. id)
local job = text and read_job(text)
if not job or redis.call('GET', ns .. 'jobs:lock:' .. id) then return {} end
if redis.call('GET', ns .. 'jobs:status:' .. id) ~= expected_status then return {} end
local held = redis.call('SISMEMBER', ns .. 'jobs:active', id) == 1 or redis.call('ZSCORE', ns .. 'jobs:delayed', id)
  or redis.call('ZSCORE', ns .. 'jobs:cron', id) or redis.call('SISMEMBER', ns .. 'x:parked', id) == 1
  or redis.call('LPOS', KEYS[1], id)
if held then return {} end
append_event('orphan_requeued', id, type_body(job.type))
local waits = expected_status == 'waiting' and type(job.dependsOn) == 'table' and #job.dependsOn > 0
if waits then park_job(id, job.dependsOn) else requeue_job(id, job.type, is_high(job), job) end
return { id, job.type, 'waiting' }
