-- put_cron: create or replace a cron definition. A firing that runs now is left alone.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  id
-- ARGV 4  old_text
-- ARGV 5  new_text
-- ARGV 6  score
-- ARGV 7  type
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:cron {ns}:events:stream
-- BUILDS {ns}:x:index
-- GIVES created | replaced | exists | changed
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"
--- @include "index_jobs"
--- @include "type_body"

local id, old = ARGV[3], ARGV[4]
local data, status = ns .. 'jobs:data:' .. id, ns .. 'jobs:status:' .. id
redis.call('XLEN', ns .. 'events:stream')
local listed = redis.call('ZSCORE', ns .. 'jobs:cron', id)
local text = redis.call('GET', data)
if text and not listed then return 'exists' end
if (text or '') ~= old then return 'changed' end
redis.call('ZADD', ns .. 'jobs:cron', ARGV[6], id)
redis.call('SET', data, ARGV[5])
local is = redis.call('GET', status)
if is ~= 'waiting' and is ~= 'active' and is ~= 'delayed' then redis.call('SET', status, 'cron') end
append_event('dispatched', id, type_body(ARGV[7]))
index_jobs({ id })
return text and 'replaced' or 'created'
