-- How many started in the last `period` milliseconds, by the sorted set of their times.
local function starts_in(key, period)
  redis.pcall('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', tonumber(now) - period))
  return tonumber(redis.pcall('ZCARD', key)) or 0
end

-- Notes that a job starts now.
local function note_start(key, period, id)
  redis.pcall('ZADD', key, now, id .. ' ' .. now)
  redis.pcall('PEXPIRE', key, string.format('%.0f', period))
end
