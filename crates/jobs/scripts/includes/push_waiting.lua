--- @include "read_job"
--- @include "is_high"

-- Puts a job into `waiting` by the priority rule. Fair: behind the high ones that wait, as far as 100 heads show.
local function push_waiting(id, high)
  local waiting = KEYS[1]
  if not high then return redis.call('RPUSH', waiting, id) end
  if not string.find(opts, 'f', 1, true) then return redis.call('LPUSH', waiting, id) end
  local heads, keys = redis.call('LRANGE', waiting, 0, 99), {}
  if #heads == 0 then return redis.call('RPUSH', waiting, id) end
  for i, head in ipairs(heads) do keys[i] = ns .. 'jobs:data:' .. head end
  local texts = redis.call('MGET', unpack(keys))
  for i, head in ipairs(heads) do
    local job = texts[i] and read_job(texts[i])
    if job and not is_high(job) then return redis.call('LINSERT', waiting, 'BEFORE', head, id) end
  end
  return redis.call('LINSERT', waiting, 'AFTER', heads[#heads], id)
end
