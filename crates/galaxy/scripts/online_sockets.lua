-- online_sockets: how many sockets a player has on one server now; may be repeated. The server's lease lives on.
-- KEYS 1 online  connections:online
-- KEYS 2 count   {{connections:online}}:count
-- KEYS 3 inst    {{connections:online}}:inst:{instance}
-- KEYS 4 leases  {{connections:online}}:leases
-- ARGV 1 instance
-- ARGV 2 player
-- ARGV 3 sockets
-- ARGV 4 until_ms
-- GIVES sockets on all servers before and after, and 1 when this server had no lease
local online, count, inst, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local instance, player, sockets, until_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local fresh = redis.call('ZADD', leases, until_ms, instance)
local had = tonumber(redis.call('HGET', inst, player)) or 0
local before = tonumber(redis.call('HGET', count, player)) or 0
-- Never fewer than this server has, whatever was lost.
local after = math.max(before - had + sockets, sockets)

if sockets > 0 then redis.call('HSET', inst, player, sockets) else redis.call('HDEL', inst, player) end
if after > 0 then
  redis.call('HSET', count, player, after)
  redis.call('SADD', online, player)
else
  redis.call('HDEL', count, player)
  redis.call('SREM', online, player)
end
return { before, after, fresh }
