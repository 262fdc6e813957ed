-- online_reap: takes back the sockets of a server whose lease is over, or that says itself that it ends.
-- KEYS 1 online  connections:online
-- KEYS 2 count   {{connections:online}}:count
-- KEYS 3 inst    {{connections:online}}:inst:{instance}
-- KEYS 4 leases  {{connections:online}}:leases
-- ARGV 1 instance
-- ARGV 2 now
-- GIVES the players who are offline now
local online, count, inst, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local instance, now = ARGV[1], ARGV[2]

-- It may have been renewed since somebody looked.
for _, alive in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. now, '+inf')) do
  if alive == instance then return {} end
end
local offline = {}
local sockets = redis.call('HGETALL', inst)
for at = 1, #sockets, 2 do
  local player = sockets[at]
  local left = (tonumber(redis.call('HGET', count, player)) or 0) - (tonumber(sockets[at + 1]) or 0)
  if left > 0 then
    redis.call('HSET', count, player, left)
  else
    redis.call('HDEL', count, player)
    redis.call('SREM', online, player)
    offline[#offline + 1] = player
  end
end
redis.call('DEL', inst)
redis.call('ZREM', leases, instance)
return offline
