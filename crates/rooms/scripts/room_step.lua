-- room_step: one change of a room: look again at what it was decided by, write, give new keys what is left of
-- the room's life, and tell, in one step or not at all.
-- KEYS 1   meta    room:{code}:meta
-- KEYS 2.. others  *
-- ARGV 1   expires_at
-- ARGV 2   channel
-- ARGV 3   told
-- ARGV 4   ours
-- ARGV 5   guards
-- ARGV 6.. writes
-- CALLS SET DEL HSET HDEL ZADD XADD
-- GIVES done | changed | gone
local KIND = { HSET = 'hash', HDEL = 'hash', ZADD = 'zset', XADD = 'stream' }
local meta, expires_at, channel, told = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local ours, guards, at, last = tonumber(ARGV[4]), tonumber(ARGV[5]), 6, #ARGV

local life = redis.call('PTTL', meta)
if life == -2 then return 'gone' end
for _ = 1, guards do
  local want, key, text = ARGV[at], KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2]
  at = at + 3
  if want == 'text' then
    if redis.call('GET', key) ~= text then return 'changed' end
  elseif want == 'absent' then
    if redis.call('EXISTS', key) == 1 then return 'changed' end
  elseif want == 'sha' then
    -- The players hold photos: their hash travels instead of megabytes.
    local have = redis.call('GET', key)
    if not have or redis.sha1hex(have) ~= text then return 'changed' end
  elseif want == 'count' then
    if redis.call('HLEN', key) ~= tonumber(text) then return 'changed' end
  elseif want == 'nofield' then
    if redis.call('HEXISTS', key, text) == 1 then return 'changed' end
  else
    if redis.call('HGET', key, text) ~= ARGV[at] then return 'changed' end
    at = at + 1
  end
end

-- A write that fails halfway would leave the ones before it. Look at all of them first.
local first = at
while at <= last do
  local count, name, key = tonumber(ARGV[at]), ARGV[at + 1], KEYS[tonumber(ARGV[at + 2])]
  local is = KIND[name] and redis.call('TYPE', key).ok
  if is and is ~= 'none' and is ~= KIND[name] then
    return redis.error_reply('WRONGTYPE ' .. key .. ' holds a ' .. is .. ', nothing was written')
  end
  at = at + 3 + count
end

if life == -1 then
  redis.call('PEXPIREAT', meta, expires_at)
  life = redis.call('PTTL', meta)
  if life < 0 then return 'gone' end
end
at = first
while at <= last do
  local count, name, key = tonumber(ARGV[at]), ARGV[at + 1], KEYS[tonumber(ARGV[at + 2])]
  if name == 'SPLICE' then
    local have, from, to = redis.call('GET', key), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local text = string.sub(have, 1, from) .. ARGV[at + 5] .. string.sub(have, to + 1)
    redis.call('SET', key, text, 'KEEPTTL')
  else
    redis.call(name, key, unpack(ARGV, at + 3, at + 2 + count))
  end
  at = at + 3 + count
end
for n = 2, ours do
  local key = KEYS[n]
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, life) end
end
if told ~= '' then redis.call('PUBLISH', channel, told) end
return 'done'
