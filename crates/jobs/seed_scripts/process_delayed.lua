-- process_delayed: moves jobs whose time has come from delayed to the back of waiting.
-- KEYS 1 delayed  {ns}:jobs:delayed
-- KEYS 2 waiting  {ns}:jobs:waiting
-- ARGV 1 now
-- ARGV 2 batch
-- GIVES how many were moved

local delayed, waiting = KEYS[1], KEYS[2]
local now, batch = ARGV[1], ARGV[2] or 100

local due = redis.call('ZRANGEBYSCORE', delayed, 0, now, 'LIMIT', 0, batch)
for _, id in ipairs(due) do
  redis.call('ZREM', delayed, id)
  redis.call('RPUSH', waiting, id)
end
return #due
