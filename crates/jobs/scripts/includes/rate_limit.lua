--- @include "starts"

-- How many of a type run, with what this step has done so far. Counters are read once per type and kept in `seen`.
local function running_now(seen)
  local kind = seen.kind
  seen.running = seen.running or tonumber(redis.call('GET', ns .. 'ratelimit:concurrent:' .. kind) or 0) or 0
  return seen.running + (running[kind] or 0)
end

-- Whether the limit that was set on the type stops it now.
local function is_type_limited(seen)
  local limit = seen.limit
  if limit.most and running_now(seen) >= limit.most then return true end
  if not limit.rate then return false end
  seen.starts = seen.starts or starts_in(ns .. 'x:rate:' .. seen.kind, limit.period)
  return seen.starts >= limit.rate
end

-- Whether limits of jobs stop them now: those of one job, or the largest of many.
local function is_limited(limits, seen)
  local kind, per_minute = seen.kind, limits.per_minute
  if limits.most and running_now(seen) >= limits.most then return true end
  if not per_minute then return false end
  if limits.sliding then
    seen.slide = seen.slide or starts_in(ns .. 'x:slide:' .. kind, 60000)
    return seen.slide >= per_minute
  end
  seen.minute = seen.minute or tonumber(redis.call('GET', ns .. 'ratelimit:minute:' .. kind) or 0) or 0
  return seen.minute >= per_minute
end

-- Counts a claim against the limit that was set on the type, and against the job's own limit per minute.
local function count_claim(id, limits, seen)
  local kind = seen.kind
  if seen.limit and seen.limit.rate then
    note_start(ns .. 'x:rate:' .. kind, seen.limit.period, id)
    seen.starts = (seen.starts or 0) + 1
  end
  if not limits.per_minute then return end
  local minute = redis.pcall('INCR', ns .. 'ratelimit:minute:' .. kind)
  if minute == 1 then redis.call('EXPIRE', ns .. 'ratelimit:minute:' .. kind, 60) end
  seen.minute = type(minute) == 'number' and minute or nil
  if limits.sliding then
    note_start(ns .. 'x:slide:' .. kind, 60000, id)
    seen.slide = nil
  end
end
