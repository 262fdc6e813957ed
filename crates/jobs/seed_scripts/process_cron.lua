-- process_cron: pushes due recurring jobs to waiting and tells which ones the caller must schedule anew.
-- It does not move their scores: ZADD the next time before the next call, or they are pushed again.
-- KEYS 1 cron        {ns}:jobs:cron
-- KEYS 2 waiting     {ns}:jobs:waiting
-- KEYS 3 dataPrefix  {ns}:jobs:data:
-- ARGV 1 now
-- ARGV 2 batch
-- BUILDS {ns}:jobs:data:{jobId}
-- GIVES a JSON array of jobId, cronExpression and timezone as text, or {} when nothing is due

local cron, waiting, data_prefix = KEYS[1], KEYS[2], KEYS[3]
local now, batch = ARGV[1], ARGV[2] or 100

local fired = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', cron, 0, now, 'LIMIT', 0, batch)) do
  local text = redis.call('GET', data_prefix .. id)
  if not text then
    redis.call('ZREM', cron, id)
  else
    local schedule = cjson.decode(text).schedule
    local entry = { jobId = id, cronExpression = schedule.cron, timezone = schedule.timezone }
    redis.call('RPUSH', waiting, id)
    fired[#fired + 1] = entry
  end
end
return cjson.encode(fired)
