--- @include "read_job"

-- A job as it stands: status, text, table. Nothing when nobody knows it.
local function read_state(id)
  local status, text = redis.call('GET', ns .. 'jobs:status:' .. id), redis.call('GET', ns .. 'jobs:data:' .. id)
  if not status and not text then return end
  return status or '', text, text and read_job(text)
end

-- Whether a job of this status has ended.
local function is_over(status)
  return status == 'completed' or status == 'failed' or status == 'dead'
end
