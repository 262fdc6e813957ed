-- create: a reactor appears, unless its spot cools down or is held: id, value, indexes, timer and event at once.
-- KEYS 1 next_id   reactors:next_id
-- KEYS 2 all       reactors:all
-- KEYS 3 map       reactors:map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}
-- KEYS 4 cooldown  reactor:cd:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}:{classification}:{x}:{y}
-- KEYS 5 spots     wk:reactors:{tenantId}:spots
-- KEYS 6 due       wk:reactors:{tenantId}:due
-- KEYS 7 due_data  wk:reactors:{tenantId}:due:data
-- KEYS 8 events    wk:reactors:{tenantId}:events
-- KEYS 9 commands  wk:reactors:{tenantId}:commands
-- ARGV 1 spot
-- ARGV 2 value_head
-- ARGV 3 value_tail
-- ARGV 4 event_head
-- ARGV 5 event_tail
-- ARGV 6 now_ms
-- ARGV 7 due_ms
-- ARGV 8 due_payload
-- ARGV 9 group
-- ARGV 10 entry
-- ARGV 11 prefix
-- BUILDS reactor:{id}
-- GIVES a word and a number: made and its id, on_cooldown and the ms left, spot_taken and who, id_space_busy, answered
local next_id, all, map, cooldown = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local spots, due, due_data, events, commands = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local spot, value_head, value_tail, event_head, event_tail = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local now_ms, due_ms, due_payload, group, entry, prefix = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]

--- @include "append_to"

if group ~= '' then
  local waits = redis.pcall('XPENDING', commands, group, entry, entry, 1)
  if waits.err or #waits == 0 then return { 'answered', 0 } end
end
local function answer(word, number)
  if group ~= '' then redis.call('XACK', commands, group, entry) end
  return { word, number }
end

local left = redis.call('PTTL', cooldown)
if left ~= -2 then return answer('on_cooldown', left) end
if spot ~= '' then
  local holder = redis.call('HGET', spots, spot)
  -- A claim whose reactor is gone, or is elsewhere by now, can be taken over.
  if holder and redis.call('EXISTS', prefix .. holder) == 1 and redis.call('SISMEMBER', map, holder) == 1 then
    return answer('spot_taken', holder)
  end
end

-- A write that fails halfway would leave the ones before it. Look at all of them first.
local function refuse(key, why)
  return redis.error_reply('WRONGTYPE ' .. key .. ' ' .. why .. ', nothing was written')
end
for key, want in pairs({ [all] = 'set', [map] = 'set', [spots] = 'hash', [due] = 'zset',
  [due_data] = 'hash', [events] = 'stream' }) do
  local is = redis.call('TYPE', key).ok
  if is ~= 'none' and is ~= want then return refuse(key, 'holds a ' .. is .. ', not a ' .. want) end
end
local last = redis.call('GET', next_id) or '1000000000'
if not string.match(last, '^%d+$') then return refuse(next_id, 'holds no whole number') end

last = math.max(tonumber(last), 1000000000)
local id
for _ = 1, 64 do
  last = last >= 2000000000 and 1000000001 or last + 1
  if redis.call('EXISTS', prefix .. string.format('%.0f', last)) == 0 then
    id = string.format('%.0f', last)
    break
  end
end
redis.call('SET', next_id, string.format('%.0f', last))
if not id then return answer('id_space_busy', 0) end

redis.call('SET', prefix .. id, value_head .. id .. value_tail)
redis.call('SADD', all, id)
redis.call('SADD', map, id)
if spot ~= '' then redis.call('HSET', spots, spot, id) end
if due_ms ~= '' then
  redis.call('ZADD', due, due_ms, 'state:' .. id)
  redis.call('HSET', due_data, 'state:' .. id, '- ' .. due_payload)
end
append_to(events, 'CREATED', now_ms, id, event_head .. id .. event_tail)
return answer('made', id)
