-- quarantine: move a job that nobody can read to the dead letters, so that it stops nobody.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  id
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter {ns}:events:stream
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- BUILDS {ns}:x:wake
-- BUILDS {ns}:x:index {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES done | readable | held | gone
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "read_job"
--- @include "is_readable"
--- @include "close_job"
--- @include "failure_result"
--- @include "append_event"
--- @include "end_job"

local id = ARGV[5]
local data = ns .. 'jobs:data:' .. id
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('XLEN', ns .. 'events:stream')
if redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1 then return 'held' end
local is = redis.call('TYPE', data).ok
if is == 'none' then return 'gone' end
local text = is == 'string' and redis.call('GET', data)
if text and read_job(text) and is_readable(text) then return 'readable' end
redis.call('LREM', KEYS[1], 0, id)
redis.call('ZREM', ns .. 'jobs:delayed', id)
redis.call('ZREM', ns .. 'jobs:cron', id)
if redis.call('LPOS', ns .. 'jobs:deadletter', id) == false then redis.call('LPUSH', ns .. 'jobs:deadletter', id) end
local result = failure_result('MalformedJob', 'the stored job cannot be read')
close_job(id, 'dead', result)
append_event('malformed', id, '{}')
end_job(id, nil, 'dead', result)
return 'done'
