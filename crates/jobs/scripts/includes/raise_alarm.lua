-- Remembers that the last firing of a definition failed for good; the next one that completes takes it back.
local function raise_alarm(id)
  redis.call('HSET', ns .. 'x:cron_failed', id, now)
end
