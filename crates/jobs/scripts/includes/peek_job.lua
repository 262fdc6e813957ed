--- @include "read_job"

-- The limits that a job brings itself: how many of its type may run, how many may start in a minute, and whether that
-- minute slides.
local NO_LIMITS, limits_read = {}, {}
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

-- What decides whether a worker may run a job: its type, its limits, the text of its target where it has one, the whole
-- job where that had to be decoded, and its group. The members of a job have a fixed order, which mostly saves decoding it. Texts
-- are looked for by what is rare in them: `x"` before `"x"`.
local PLAIN_TAIL = '^,"metadata":{},"createdAt":%d+,"attempts":%d+$'
local function peek_job(text)
  local find = string.find
  local kind = string.match(text, '^{"jobId":"[^"\\]*","type":"([^"\\]+)",')
  local has_x, group = find(text, 'x"', 1, true) and find(text, '"x"', 1, true), nil
  if kind and has_x then
    -- Nothing but a group, at the very end: the rest is read as if it were not there.
    group = string.match(text, '^"x":{"group":"([^"\\]+)"}}$', has_x)
    if group then has_x, text = nil, string.sub(text, 1, has_x - 2) .. '}' end
  end
  if kind and not has_x then
    local limits, ends, limit_at = NO_LIMITS, #text - 1, find(text, 'rateLimit"', 1, true)
    if limit_at then limits, ends = limits_at_end(string.sub(text, limit_at)), limit_at - 3 end
    local _, at = find(text, 'target"', 1, true)
    if limits and not at then return kind, limits, nil, nil, group end
    if limits and not find(text, 'target"', at, true) then
      if string.sub(text, at + 1, at + 3) == ':{}' then return kind, limits, nil, nil, group end
      local target = string.match(text, '^:(%b{})', at + 1)
      if target and find(string.sub(text, at + 2 + #target, ends), PLAIN_TAIL) then
        return kind, limits, target, nil, group
      end
    end
  end
  local job = read_job(text)
  if job then return job.type, limits_of(job.rateLimit, job.x), nil, job, group_of(job.x) end
end
