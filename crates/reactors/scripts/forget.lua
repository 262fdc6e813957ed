-- forget: claims on spots of one field are given up where their reactor is gone.
-- KEYS 1 spots   wk:reactors:{tenantId}:spots
-- ARGV 1 field
-- ARGV 2 prefix
-- BUILDS reactor:{id}
-- GIVES how many
local spots, field, prefix = KEYS[1], ARGV[1], ARGV[2]
local all, gone = redis.call('HGETALL', spots), 0
for i = 1, #all, 2 do
  local spot, holder = all[i], all[i + 1]
  if string.sub(spot, 1, #field) == field and redis.call('EXISTS', prefix .. holder) == 0 then
    redis.call('HDEL', spots, spot)
    gone = gone + 1
  end
end
return gone
