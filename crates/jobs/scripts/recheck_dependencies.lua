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
-- BUILDS {ns}:jobs:deadletter {ns}:x:index {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES placed | failed | waiting | gone
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "read_job"
--- @include "after_failure"
--- @include "note_child"
--- @include "fail_dependent"
--- @include "release_dependents"
--- @include "promote_parked"
--- @include "park_job"

local id = ARGV[5]
local parked, deps = ns .. 'x:parked', ns .. 'x:deps:' .. id
redis.call('LLEN', KEYS[1])
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('XLEN', ns .. 'events:stream')
if redis.call('SISMEMBER', parked, id) == 0 then return 'gone' end
local text = redis.call('GET', ns .. 'jobs:data:' .. id)
local job = text and read_job(text)
if not job then
  redis.call('SREM', parked, id)
  redis.call('DEL', deps)
  return 'gone'
end
-- What it waits for may be lost: its text knows.
if redis.call('EXISTS', deps) == 0 and type(job.dependsOn) == 'table' then park_job(id, job.dependsOn) end
local left = 0
for _, dependency in ipairs(redis.call('SMEMBERS', deps)) do
  local status = redis.call('GET', ns .. 'jobs:status:' .. dependency) or 'gone'
  local wish = (status == 'failed' or status == 'dead') and after_failure(job, dependency)
  if wish == 'wait' or not (wish or status == 'gone' or status == 'completed') then
    -- A helper that was lost is made anew.
    redis.call('SADD', ns .. 'x:children:' .. dependency, id)
    left = left + 1
  else
    note_child(id, job, dependency, status, redis.call('GET', ns .. 'jobs:result:' .. dependency))
    if wish == 'fail' then
      local became, result = fail_dependent(id, job, dependency)
      if redis.call('EXISTS', parked) == 1 then release_dependents(id, became, result) end
      return 'failed'
    end
    redis.call('SREM', deps, dependency)
  end
end
if left > 0 then return 'waiting' end
promote_parked(id, job)
return 'placed'
