-- online_recount: counts every player's sockets anew from the servers that have a lease; says where the total is wrong.
-- KEYS 1 online  connections:online
-- KEYS 2 count   {{connections:online}}:count
-- KEYS 3 leases  {{connections:online}}:leases
-- ARGV 1 repair
-- ARGV 2 prefix
-- BUILDS {{connections:online}}:inst:{instance}
-- GIVES the players whose total was wrong
local online, count, leases = KEYS[1], KEYS[2], KEYS[3]
local repair, prefix = ARGV[1] == 'true', ARGV[2]

local sockets = {}
for _, instance in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', '+inf')) do
  local here = redis.call('HGETALL', prefix .. instance)
  for n = 1, #here, 2 do sockets[here[n]] = (sockets[here[n]] or 0) + (tonumber(here[n + 1]) or 0) end
end
local wrong, seen = {}, {}
local function look(player, total)
  if seen[player] then return end
  seen[player] = true
  local real = sockets[player] or 0
  local listed = redis.call('SISMEMBER', online, player) == 1
  if total == real and (listed or real == 0) then return end
  wrong[#wrong + 1] = player
  if not repair then return end
  if real > 0 then
    redis.call('HSET', count, player, real)
    redis.call('SADD', online, player)
  else
    redis.call('HDEL', count, player)
    redis.call('SREM', online, player)
  end
end
local totals = redis.call('HGETALL', count)
for at = 1, #totals, 2 do look(totals[at], tonumber(totals[at + 1]) or -1) end
for player in pairs(sockets) do look(player, 0) end
table.sort(wrong)
return wrong
