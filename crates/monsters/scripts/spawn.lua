-- spawn: draw ids, store monsters, list them in their field, choose who controls each, tell it; all or nothing.
-- KEYS 1 next      atlas:monster-ids:{tenantId}:next
-- KEYS 2 free      atlas:monster-ids:{tenantId}:free
-- KEYS 3 map       atlas:monster-map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}
-- KEYS 4 present   wk:monsters:{tenantId}:present:{worldId}:{channelId}:{mapId}:{instance}
-- KEYS 5 hidden    wk:monsters:{tenantId}:hidden:{worldId}:{channelId}:{mapId}:{instance}
-- KEYS 6 events    wk:monsters:{tenantId}:events
-- KEYS 7 due       wk:monsters:{tenantId}:due
-- KEYS 8 data      wk:monsters:{tenantId}:due:data
-- KEYS 9 lives     wk:monsters:{tenantId}:lives
-- ARGV 1 now_ms
-- ARGV 2 limit
-- ARGV 3 member
-- ARGV 4 value
-- ARGV 5 monsters
-- ARGV 6 timers
-- ARGV 7 cooldowns
-- ARGV 8.. parts
-- BUILDS atlas:monster:{tenantId}:{uniqueId} atlas:drop-timer:{tenantId}:{uniqueId}
-- BUILDS atlas:monster-cooldown:{tenantId}:{monsterId}:{skillId}
-- GIVES full | lost | busy | list of ids, controllers and lives
local next, free, map, present, hidden = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local events, due, data, lives = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local now_ms, limit, member, value = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local monsters, timers, cooldowns = ARGV[5], ARGV[6], ARGV[7]
local MIN, MAX, PARTS = 1000000000, 2000000000, 9

--- @include "append_to"

-- A write that fails halfway would leave the ones before it. Look at all of them first.
local kinds = { next, 'string', free, 'list', map, 'set', present, 'hash', hidden, 'set', events, 'stream',
  due, 'zset', data, 'hash', lives, 'hash' }
for at = 1, #kinds, 2 do
  local key, kind = kinds[at], kinds[at + 1]
  local is = redis.call('TYPE', key).ok
  if is ~= 'none' and is ~= kind then
    return redis.error_reply('WRONGTYPE ' .. key .. ' holds a ' .. is .. ', not a ' .. kind .. ', nothing was written')
  end
end
local last = redis.call('GET', next)
if last and not string.match(last, '^%d+$') then
  return redis.error_reply('WRONGTYPE ' .. next .. ' holds no whole number, nothing was written')
end
if member ~= '' and redis.call('HGET', data, member) ~= value then return 'lost' end
if limit > 0 and redis.call('SCARD', map) >= limit then return 'full' end

local ids, taken, again = {}, {}, {}
for _ = 1, (#ARGV - 7) / PARTS do
  for _ = 1, 64 do
    local id = redis.call('LPOP', free)
    local used = id
    if not id then
      last = last and tonumber(last) + 1 or MIN
      if last < MIN or last > MAX then last = MIN end
      id = string.format('%d', last)
      redis.call('SET', next, id)
    end
    local number = string.match(id, '^[1-9]%d*$') and tonumber(id) or 0
    if number >= MIN and number <= MAX and not taken[id] and redis.call('EXISTS', monsters .. id) == 0 then
      ids[#ids + 1], taken[id], again[id] = id, true, used or redis.call('HEXISTS', lives, id) == 1
      break
    end
  end
end
if #ids < (#ARGV - 7) / PARTS then
  for at = #ids, 1, -1 do redis.call('LPUSH', free, ids[at]) end
  return 'busy'
end

-- Of those present and seen, the one who controls fewest; of equals, the lowest id.
local crowd, unseen = redis.call('HGETALL', present), {}
for _, who in ipairs(#crowd > 0 and redis.call('SMEMBERS', hidden) or {}) do unseen[who] = true end
local out = {}
for n, id in ipairs(ids) do
  local best, least, slot = 0, nil, nil
  for at = 1, #crowd, 2 do
    local who, count = tonumber(crowd[at]), tonumber(crowd[at + 1])
    if who and count and count >= 0 and not unseen[crowd[at]]
      and (not slot or count < least or (count == least and who < best)) then
      best, least, slot = who, count, at
    end
  end
  best = string.format('%.0f', best)
  if slot then
    crowd[slot + 1] = least + 1
    redis.call('HINCRBY', present, crowd[slot], 1)
  end
  local at = 8 + (n - 1) * PARTS
  local life = again[id] and redis.call('HINCRBY', lives, id, 1) + 1 or 1
  -- An heir does not wait for what its predecessor used.
  for skill in string.gmatch(ARGV[at + 8], '%d+') do redis.call('DEL', cooldowns .. id .. ':' .. skill) end
  redis.call('SET', monsters .. id, '{"uniqueId":' .. id .. ARGV[at] .. best .. ARGV[at + 1])
  redis.call('SADD', map, id)
  if ARGV[at + 5] ~= '' then
    redis.call('SET', timers .. id, ARGV[at + 5] .. id .. ARGV[at + 6])
    redis.call('ZADD', due, ARGV[at + 7], 'drop:' .. id)
    redis.call('HSET', data, 'drop:' .. id, '- ' .. id)
  end
  append_to(events, 'CREATED', now_ms, id,
    ARGV[at + 2] .. id .. ARGV[at + 3] .. string.format('%.0f', life) .. ARGV[at + 4])
  out[#out + 1] = id
  out[#out + 1] = best
  out[#out + 1] = life
end
if member ~= '' then
  redis.call('ZREM', due, member)
  redis.call('HDEL', data, member)
end
return out
