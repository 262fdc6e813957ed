-- pause: stop claims of a type, for good or until a time.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  type
-- ARGV 4  until_ms
-- BUILDS {ns}:queues:paused {ns}:x:paused_until {ns}:events:stream
-- GIVES changed | unchanged
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, kind, until_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "append_event"

local paused, paused_until = ns .. 'queues:paused', ns .. 'x:paused_until'
redis.call('SCARD', paused)
redis.call('XLEN', ns .. 'events:stream')
local deadline = redis.call('ZSCORE', paused_until, kind)
if until_ms == '' then
  redis.call('ZREM', paused_until, kind)
else
  redis.call('ZADD', paused_until, until_ms, kind)
end
if redis.call('SADD', paused, kind) == 0 and (deadline or '') == until_ms then return 'unchanged' end
append_event('paused', kind, until_ms == '' and '{}' or '{"until":' .. until_ms .. '}')
return 'changed'
