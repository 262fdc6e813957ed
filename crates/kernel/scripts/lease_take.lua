-- lease_take: get a lease that nobody holds, or prolong one's own.
-- KEYS 1 lease  wk:lease:{name}
-- ARGV 1 token
-- ARGV 2 life_ms
-- GIVES held | taken
local lease, token, life_ms = KEYS[1], ARGV[1], ARGV[2]
local holder = redis.call('GET', lease)
if holder and holder ~= token then return 'taken' end
redis.call('SET', lease, token, 'PX', life_ms)
return 'held'
