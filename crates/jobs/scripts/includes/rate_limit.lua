-- Whether limits stop a type now: those of a job, or the largest of many jobs. Counters are read once per type and kept in
-- `seen`; `running` says how many more of the type run after what this step has done so far.
local function is_limited(limits, seen)
  local kind, most, per_minute = seen.kind, limits.most, limits.per_minute
  if most then
    seen.running = seen.running or tonumber(redis.call('GET', ns .. 'ratelimit:concurrent:' .. kind) or 0) or 0
    if seen.running + (running[kind] or 0) >= most then return true end
  end
  if not per_minute then return false end
  if limits.sliding then
    if not seen.slide then
      local key = ns .. 'x:slide:' .. kind
      redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', tonumber(now) - 60000))
      seen.slide = redis.call('ZCARD', key)
    end
    return seen.slide >= per_minute
  end
  seen.minute = seen.minute or tonumber(redis.call('GET', ns .. 'ratelimit:minute:' .. kind) or 0) or 0
  return seen.minute >= per_minute
end

-- Counts a claim against the limit per minute, if the job has one.
local function count_claim(id, limits, seen)
  if not limits.per_minute then return end
  local kind = seen.kind
  local minute = redis.pcall('INCR', ns .. 'ratelimit:minute:' .. kind)
  if minute == 1 then redis.call('EXPIRE', ns .. 'ratelimit:minute:' .. kind, 60) end
  seen.minute = type(minute) == 'number' and minute or nil
  if limits.sliding then
    redis.call('ZADD', ns .. 'x:slide:' .. kind, now, id .. ' ' .. now)
    redis.call('EXPIRE', ns .. 'x:slide:' .. kind, 60)
    seen.slide = nil
  end
end
