-- register: enter a worker into the registry. A living one of the same id is never overwritten.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  worker
-- ARGV 4  pid
-- ARGV 5  hostname
-- ARGV 6  text
-- BUILDS {ns}:workers:{serverId} {ns}:workers:heartbeat:{serverId} {ns}:workers:active {ns}:events:stream
-- BUILDS {ns}:x:asked
-- GIVES `done`; or `in_use`, then the entry and the sign of life of the one that has the id
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, worker, pid, hostname = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

--- @include "append_event"
--- @include "is_same_process"

local entry, beat, all = ns .. 'workers:' .. worker, ns .. 'workers:heartbeat:' .. worker, ns .. 'workers:active'
redis.call('SCARD', all)
redis.call('HLEN', ns .. 'x:asked')
redis.call('XLEN', ns .. 'events:stream')
local text, seen = redis.call('GET', entry), redis.call('GET', beat)
local is_other = not is_same_process(text, pid, hostname)
if is_other and seen then return { 'in_use', text, seen } end
redis.call('SET', entry, ARGV[6])
redis.call('SET', beat, now, 'EX', 30)
redis.call('SADD', all, worker)
redis.call('HDEL', ns .. 'x:asked', worker)
append_event('worker_joined', worker, '{"hostname":' .. cjson.encode(hostname) .. ',"pid":' .. pid .. '}')
return 'done'
