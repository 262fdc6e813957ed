-- online_start: when no server lives, whoever is still listed as online and not counted is a leftover.
-- KEYS 1 online  connections:online
-- KEYS 2 count   {{connections:online}}:count
-- KEYS 3 leases  {{connections:online}}:leases
-- ARGV 1 now
-- GIVES how many leftovers were removed
local online, count, leases = KEYS[1], KEYS[2], KEYS[3]
local now = ARGV[1]

if #redis.call('ZRANGEBYSCORE', leases, '(' .. now, '+inf') > 0 then return 0 end
local removed = 0
for _, player in ipairs(redis.call('SMEMBERS', online)) do
  if (tonumber(redis.call('HGET', count, player)) or 0) <= 0 then
    redis.call('SREM', online, player)
    removed = removed + 1
  end
end
return removed
