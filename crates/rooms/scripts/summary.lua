-- summary: one line about a room, counted where its photos are.
-- KEYS 1 meta     room:{code}:meta
-- KEYS 2 players  room:{code}:players
-- KEYS 3 claims   room:{code}:claims
-- GIVES remaining life, meta, active players, those of them that nobody holds
local meta, players, claims = KEYS[1], KEYS[2], KEYS[3]
local life = redis.call('PTTL', meta)
if life == -2 then return { life } end
local active, free = 0, 0
local fine, all = pcall(cjson.decode, redis.call('GET', players) or '[]')
if fine and type(all) == 'table' then
  for _, player in ipairs(all) do
    if type(player) == 'table' and player.active == true then
      active = active + 1
      if redis.call('HEXISTS', claims, tostring(player.player_id)) == 0 then free = free + 1 end
    end
  end
end
return { life, redis.call('GET', meta), active, free }
