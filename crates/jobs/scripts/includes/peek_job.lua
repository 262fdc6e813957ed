-- What decides whether a worker may run a job: its type, then the whole job or the text of its target where more than
-- the type decides. The members of a job have a fixed order, which mostly saves decoding it. Texts are looked for by
-- what is rare in them: `x"` before `"x"`.
local PLAIN_TAIL = '^,"metadata":{},"createdAt":%d+,"attempts":%d+}$'
local function peek_job(text)
  local find = string.find
  local kind = string.match(text, '^{"jobId":"[^"\\]*","type":"([^"\\]+)",')
  local has_x = find(text, 'x"', 1, true) and find(text, '"x"', 1, true)
  if kind and not has_x and not find(text, 'rateLimit"', 1, true) then
    local _, at = find(text, 'target"', 1, true)
    if not at then return kind end
    if not find(text, 'target"', at, true) then
      if string.sub(text, at + 1, at + 3) == ':{}' then return kind end
      local target = string.match(text, '^:(%b{})', at + 1)
      if target and find(string.sub(text, at + 2 + #target), PLAIN_TAIL) then return kind, nil, target end
    end
  end
  --- @include "read_job"
  local job = read_job(text)
  if job then return job.type, job end
end
