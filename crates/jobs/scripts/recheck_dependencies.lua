-- recheck_dependencies: look again at a parked job whose dependencies may have ended unheard. What is gone counts as done.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  id
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:progress:{jobId}
-- BUILDS {ns}:jobs:delayed {ns}:events:stream {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId}
-- BUILDS {ns}:x:unique:{digest} {ns}:x:batch:{batchId} {ns}:x:wake
-- BUILDS {ns}:x:index
-- GIVES placed | failed | waiting | gone
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "read_job"
--- @include "runs_after_failure"
--- @include "follows"
--- @include "fail_dependent"
--- @include "release_dependents"
--- @include "promote_parked"

local id = ARGV[5]
local parked, deps = ns .. 'x:parked', ns .. 'x:deps:' .. id
redis.call('LLEN', KEYS[1])
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('XLEN', ns .. 'events:stream')
if redis.call('SISMEMBER', parked, id) == 0 then return 'gone' end
local text = redis.call('GET', ns .. 'jobs:data:' .. id)
local job = text and read_job(text)
if not job then
  redis.call('SREM', parked, id)
  redis.call('DEL', deps)
  return 'gone'
end
local left = 0
for _, parent in ipairs(redis.call('SMEMBERS', deps)) do
  local status = redis.call('GET', ns .. 'jobs:status:' .. parent)
  local bad = status == 'failed' or status == 'dead'
  if bad and not runs_after_failure(job) and not follows(job, parent) then
    fail_dependent(id, job, parent)
    if redis.call('EXISTS', parked) == 1 then release_dependents(id, false) end
    return 'failed'
  elseif not status or status == 'completed' or status == 'failed' or status == 'dead' then
    redis.call('SREM', deps, parent)
  else
    left = left + 1
  end
end
if left > 0 then return 'waiting' end
promote_parked(id, job)
return 'placed'
