-- trim_dlq: remove the oldest dead letters beyond the limit, with all that belongs to them.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  most
-- ARGV 4  batch
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:progress:{jobId}
-- BUILDS {ns}:jobs:deadletter {ns}:events:stream {ns}:x:flow:{jobId} {ns}:x:children:{jobId}
-- GIVES how many were removed
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"

local list = ns .. 'jobs:deadletter'
redis.call('XLEN', ns .. 'events:stream')
local many = math.min(redis.call('LLEN', list) - tonumber(ARGV[3]), tonumber(ARGV[4]))
for _ = 1, many do
  local id = redis.call('RPOP', list)
  redis.call('DEL', ns .. 'jobs:data:' .. id, ns .. 'jobs:status:' .. id, ns .. 'jobs:result:' .. id,
    ns .. 'jobs:progress:' .. id, ns .. 'x:flow:' .. id, ns .. 'x:children:' .. id)
  append_event('removed', id, '{"reason":"dlq_max"}')
end
return math.max(many, 0)
