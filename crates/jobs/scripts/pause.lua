-- pause: stop claims of a type, for good or until a time, or let them go on.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  verb
-- ARGV 4  type
-- ARGV 5  until_ms
-- BUILDS {ns}:queues:paused {ns}:x:paused_until {ns}:events:stream {ns}:x:wake
-- GIVES changed | unchanged
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"
--- @include "wake_workers"

local verb, kind, until_ms = ARGV[3], ARGV[4], ARGV[5]
local paused, later = ns .. 'queues:paused', ns .. 'x:paused_until'
redis.call('SCARD', paused)
redis.call('XLEN', ns .. 'events:stream')
local deadline = redis.call('ZSCORE', later, kind)
if verb == 'pause' then
  if until_ms == '' then redis.call('ZREM', later, kind) else redis.call('ZADD', later, until_ms, kind) end
  if redis.call('SADD', paused, kind) == 0 and (deadline or '') == until_ms then return 'unchanged' end
  append_event('paused', kind, until_ms == '' and '{}' or '{"until":' .. until_ms .. '}')
  return 'changed'
end
-- Whoever resumes what is due finds that somebody has set another time meanwhile.
if verb == 'resume_due' and not (deadline and tonumber(deadline) <= tonumber(now)) then return 'unchanged' end
redis.call('ZREM', later, kind)
if redis.call('SREM', paused, kind) == 0 then return 'unchanged' end
append_event('resumed', kind, '{}')
wake_workers(kind)
return 'changed'
