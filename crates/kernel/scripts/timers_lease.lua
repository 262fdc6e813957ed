-- timers_lease: hand out timers that are due, moving each forward so that nobody else gets it meanwhile.
-- KEYS 1 due   wk:{module}:{scope}:due
-- KEYS 2 data  wk:{module}:{scope}:due:data
-- ARGV 1 now_ms
-- ARGV 2 until_ms
-- ARGV 3 most
-- ARGV 4 token
-- GIVES list of member, due and payload
local due, data, now_ms, until_ms, most, token = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local found = redis.call('ZRANGEBYSCORE', due, '-inf', now_ms, 'WITHSCORES', 'LIMIT', 0, most)
local out = {}
for i = 1, #found, 2 do
  local member, score = found[i], found[i + 1]
  -- The value is `<token> <payload>`, `-` when nobody has it. Without a value there is nothing to do.
  local value = redis.call('HGET', data, member)
  local payload = value and string.match(value, '^[^ ]* (.*)$')
  if payload then
    redis.call('HSET', data, member, token .. ' ' .. payload)
    redis.call('ZADD', due, until_ms, member)
    out[#out + 1] = member
    out[#out + 1] = score
    out[#out + 1] = payload
  else
    redis.call('ZREM', due, member)
    redis.call('HDEL', data, member)
  end
end
return out
