--- @include "read_job"

local NO_LIMITS, limits_read = {}, {}

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
    if limit_at then
      --- @include "peek_limits"
      limits, ends = limits_at_end(string.sub(text, limit_at)), limit_at - 3
    end
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
  --- @include "peek_limits"
  local job = read_job(text)
  if job then return job.type, limits_of(job.rateLimit, job.x), nil, job, group_of(job.x) end
end
