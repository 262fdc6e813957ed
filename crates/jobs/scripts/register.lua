-- register: enter a worker into the registry or take it out. A living one of the same id is never overwritten.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  verb
-- ARGV 4  worker
-- ARGV 5  text
-- ARGV 6  pid
-- ARGV 7  hostname
-- BUILDS {ns}:workers:{serverId} {ns}:workers:heartbeat:{serverId} {ns}:workers:active {ns}:events:stream
-- BUILDS {ns}:x:asked
-- GIVES done | in_use
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"

local worker, pid, hostname = ARGV[4], ARGV[6], ARGV[7]
local entry, beat, all = ns .. 'workers:' .. worker, ns .. 'workers:heartbeat:' .. worker, ns .. 'workers:active'
redis.call('SCARD', all)
redis.call('HLEN', ns .. 'x:asked')
redis.call('XLEN', ns .. 'events:stream')
local text = redis.call('GET', entry)
local fine, other = pcall(cjson.decode, text or '')
local same = not fine or type(other) ~= 'table'
  or (tostring(other.pid) == pid and tostring(other.hostname) == hostname)
if ARGV[3] == 'leave' then
  if not same then return 'in_use' end
  redis.call('DEL', entry, beat)
  redis.call('SREM', all, worker)
  redis.call('HDEL', ns .. 'x:asked', worker)
  if text then append_event('worker_left', worker, '{}') end
  return 'done'
end
if not same and redis.call('EXISTS', beat) == 1 then return 'in_use' end
redis.call('SET', entry, ARGV[5])
redis.call('SET', beat, now, 'EX', 30)
redis.call('SADD', all, worker)
redis.call('HDEL', ns .. 'x:asked', worker)
append_event('worker_joined', worker, '{"hostname":' .. cjson.encode(hostname) .. ',"pid":' .. pid .. '}')
return 'done'
