-- rotate: move jobs that no worker may run from the head of the list to its tail, in their order.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  window
-- ARGV 4  behind
-- ARGV 5.. ids
-- BUILDS {ns}:events:stream {ns}:x:wake
-- GIVES how many moved
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"
--- @include "wake_workers"

local waiting, unwanted, moved, kept = KEYS[1], {}, {}, {}
redis.call('XLEN', ns .. 'events:stream')
-- Only what stands in front of a job that somebody may run: what was claimed, or moved by another leader, stays.
local upto = redis.call('LPOS', waiting, ARGV[4], 'MAXLEN', 20000)
if not upto or upto == 0 then return 0 end
local heads = redis.call('LRANGE', waiting, 0, math.min(upto, tonumber(ARGV[3])) - 1)
for at = 5, #ARGV do unwanted[ARGV[at]] = true end
for i = #heads, 1, -1 do
  if not unwanted[heads[i]] then kept[#kept + 1] = heads[i] end
end
for _, id in ipairs(heads) do
  if unwanted[id] then moved[#moved + 1] = id end
end
if #moved == 0 then return 0 end
redis.call('RPUSH', waiting, unpack(moved))
redis.call('LTRIM', waiting, #heads, -1)
if #kept > 0 then redis.call('LPUSH', waiting, unpack(kept)) end
append_event('rotated', moved[1], '{"jobs":' .. #moved .. '}')
wake_workers('*')
return #moved
