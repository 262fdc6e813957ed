-- Whether a job asks for exactly sixty seconds instead of the fixed minute.
local function is_sliding(job)
  return type(job.x) == 'table' and job.x.limiter == 'sliding'
end

-- Whether the limits of a job stop it now. `changed` more of its type run after what this step has done so far; counters
-- are read once per type and kept in `seen`.
local function is_limited(job, kind, seen, changed)
  local limit = job.rateLimit
  if type(limit) ~= 'table' then return false end
  local most, per_minute = limit.maxConcurrent, limit.maxPerMinute
  if type(most) == 'number' then
    seen.running = seen.running or tonumber(redis.call('GET', ns .. 'ratelimit:concurrent:' .. kind) or 0) or 0
    if seen.running + changed >= most then return true end
  end
  if type(per_minute) ~= 'number' then return false end
  if is_sliding(job) then
    local key = ns .. 'x:slide:' .. kind
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', tonumber(now) - 60000))
    return redis.call('ZCARD', key) >= per_minute
  end
  seen.minute = seen.minute or tonumber(redis.call('GET', ns .. 'ratelimit:minute:' .. kind) or 0) or 0
  return seen.minute >= per_minute
end

-- Counts a claim against the limit per minute, if the job has one.
local function count_claim(id, job, kind, seen)
  if type(job.rateLimit) ~= 'table' or type(job.rateLimit.maxPerMinute) ~= 'number' then return end
  local minute = redis.pcall('INCR', ns .. 'ratelimit:minute:' .. kind)
  if minute == 1 then redis.call('EXPIRE', ns .. 'ratelimit:minute:' .. kind, 60) end
  seen.minute = type(minute) == 'number' and minute or nil
  if is_sliding(job) then
    redis.call('ZADD', ns .. 'x:slide:' .. kind, now, id .. ' ' .. now)
    redis.call('EXPIRE', ns .. 'x:slide:' .. kind, 60)
  end
end
