-- resume: let claims of a type go on; with `only_due`, only if the time until which it is paused has come.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  type
-- ARGV 4  only_due
-- BUILDS {ns}:queues:paused {ns}:x:paused_until {ns}:events:stream {ns}:x:wake
-- GIVES changed | unchanged
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, kind, only_due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "append_event"
--- @include "wake_workers"

local paused, paused_until = ns .. 'queues:paused', ns .. 'x:paused_until'
redis.call('SCARD', paused)
redis.call('XLEN', ns .. 'events:stream')
local deadline = redis.call('ZSCORE', paused_until, kind)
-- Somebody may have set another time meanwhile.
if only_due ~= '' and not (deadline and tonumber(deadline) <= tonumber(now)) then return 'unchanged' end
redis.call('ZREM', paused_until, kind)
if redis.call('SREM', paused, kind) == 0 then return 'unchanged' end
append_event('resumed', kind, '{}')
wake_workers(kind)
return 'changed'
