-- enter: a character is in a field from now on, seen by others or not.
-- KEYS 1 present  wk:monsters:{tenantId}:present:{worldId}:{channelId}:{mapId}:{instance}
-- KEYS 2 hidden   wk:monsters:{tenantId}:hidden:{worldId}:{channelId}:{mapId}:{instance}
-- ARGV 1 character
-- ARGV 2 unseen
-- GIVES entered | stayed
local present, hidden, character, unseen = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if unseen == 'true' then
  redis.call('SADD', hidden, character)
else
  redis.call('SREM', hidden, character)
end
-- A count below nothing is what a monster leaves behind whose controller was never here.
local count = tonumber(redis.call('HGET', present, character) or -1)
if count and count >= 0 then return 'stayed' end
redis.call('HSET', present, character, 0)
return 'entered'
