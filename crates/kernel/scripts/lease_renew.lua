-- lease_renew: prolong one's own lease; one that ran out stays lost.
-- KEYS 1 lease  wk:lease:{name}
-- ARGV 1 token
-- ARGV 2 life_ms
-- GIVES held | lost
local lease, token, life_ms = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GET', lease) ~= token then return 'lost' end
redis.call('PEXPIRE', lease, life_ms)
return 'held'
