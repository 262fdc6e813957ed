-- take: a device takes a player: one device per player, one player per device, always.
-- KEYS 1   meta     room:{code}:meta
-- KEYS 2   players  room:{code}:players
-- KEYS 3   claims   room:{code}:claims
-- KEYS 4.. events   *
-- ARGV 1   expires_at
-- ARGV 2   meta_text
-- ARGV 3   players_sha
-- ARGV 4   player
-- ARGV 5   device
-- ARGV 6   channel
-- ARGV 7   told
-- ARGV 8   at
-- ARGV 9   code
-- ARGV 10  body
-- GIVES taken | held | taken_now | device_already_has_player | changed | gone
local meta, players, claims = KEYS[1], KEYS[2], KEYS[3]
local player, device = ARGV[4], ARGV[5]
local life = redis.call('PTTL', meta)
if life == -2 then return 'gone' end
if redis.call('GET', meta) ~= ARGV[2] then return 'changed' end
local have = redis.call('GET', players)
if not have or redis.sha1hex(have) ~= ARGV[3] then return 'changed' end

local holder = redis.call('HGET', claims, player)
if holder and holder ~= device then return 'taken_now' end
local all = redis.call('HGETALL', claims)
for n = 1, #all, 2 do
  if all[n + 1] == device and all[n] ~= player then return 'device_already_has_player' end
end
if holder then return 'held' end

if life == -1 then
  redis.call('PEXPIREAT', meta, ARGV[1])
  life = redis.call('PTTL', meta)
  if life < 0 then return 'gone' end
end
redis.call('HSET', claims, player, device)
if redis.call('PTTL', claims) == -1 then redis.call('PEXPIRE', claims, life) end
redis.call('PUBLISH', ARGV[6], ARGV[7])
if KEYS[4] then
  --- @include "append_to"
  append_to(KEYS[4], 'TAKE_PLAYER', ARGV[8], ARGV[9], ARGV[10])
end
return 'taken'
