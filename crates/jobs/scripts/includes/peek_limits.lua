-- The limits that a job brings itself: how many of its type may run, how many may start in a minute, and whether that
-- minute slides.
local function limits_of(limit, x)
  if type(limit) ~= 'table' then return NO_LIMITS end
  local most, per_minute = limit.maxConcurrent, limit.maxPerMinute
  return {
    most = type(most) == 'number' and most or nil,
    per_minute = type(per_minute) == 'number' and per_minute or nil,
    sliding = type(x) == 'table' and x.limiter == 'sliding',
  }
end

-- The same from the end of a text, where `rateLimit` is the last member of the job; false where it is not.
local function limits_at_end(said)
  if limits_read[said] == nil then
    local body = string.match(said, '^rateLimit":({[^{}]*})}$')
    local fine, limit = pcall(cjson.decode, body or '')
    limits_read[said] = fine and body and limits_of(limit) or false
  end
  return limits_read[said]
end

-- The group of a job; nothing where it has none.
local function group_of(x)
  local group = type(x) == 'table' and x.group
  return type(group) == 'string' and group ~= '' and group or nil
end
