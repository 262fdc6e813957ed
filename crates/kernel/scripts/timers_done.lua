-- timers_done: remove a timer, or move it to another time, if the caller still has it.
-- KEYS 1 due   wk:{module}:{scope}:due
-- KEYS 2 data  wk:{module}:{scope}:due:data
-- ARGV 1 member
-- ARGV 2 value
-- ARGV 3 again_ms
-- ARGV 4 free
-- GIVES done | lost
local due, data, member, value, again_ms, free = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- Arming anew writes another value: the old holder finds that it lost the timer, and the new one survives.
if redis.call('HGET', data, member) ~= value then return 'lost' end
if again_ms ~= '' then
  redis.call('ZADD', due, again_ms, member)
  redis.call('HSET', data, member, free)
else
  redis.call('ZREM', due, member)
  redis.call('HDEL', data, member)
end
return 'done'
