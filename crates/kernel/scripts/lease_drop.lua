-- lease_drop: give one's own lease back; nobody else's.
-- KEYS 1 lease  wk:lease:{name}
-- ARGV 1 token
-- GIVES dropped | lost
local lease, token = KEYS[1], ARGV[1]
if redis.call('GET', lease) ~= token then return 'lost' end
redis.call('DEL', lease)
return 'dropped'
