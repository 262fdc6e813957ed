-- unregister: take a worker out of the registry, unless another process has its id.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  worker
-- ARGV 4  pid
-- ARGV 5  hostname
-- BUILDS {ns}:workers:{serverId} {ns}:workers:heartbeat:{serverId} {ns}:workers:active {ns}:events:stream
-- BUILDS {ns}:x:asked
-- GIVES done | in_use
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, worker, pid, hostname = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

--- @include "append_event"
--- @include "is_same_process"

local entry, all = ns .. 'workers:' .. worker, ns .. 'workers:active'
redis.call('SCARD', all)
redis.call('HLEN', ns .. 'x:asked')
redis.call('XLEN', ns .. 'events:stream')
local text = redis.call('GET', entry)
if not is_same_process(text, pid, hostname) then return 'in_use' end
redis.call('DEL', entry, ns .. 'workers:heartbeat:' .. worker)
redis.call('SREM', all, worker)
redis.call('HDEL', ns .. 'x:asked', worker)
if text then append_event('worker_left', worker, '{}') end
return 'done'
