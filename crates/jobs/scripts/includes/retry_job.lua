-- Lets a job run again: at once by the priority rule, or from `run_at` on. `new_text` counts the attempt.
local function retry_job(id, kind, result, flags, new_text, run_at)
  --- @include "drop_progress"
  --- @include "requeue_job"
  if string.find(flags, 'p', 1, true) then drop_progress(id) end
  redis.call('SET', ns .. 'jobs:data:' .. id, new_text)
  redis.call('SET', ns .. 'jobs:result:' .. id, result, 'EX', result_ttl)
  if run_at == '0' then
    requeue_job(id, kind, string.find(flags, 'h', 1, true), new_text)
  else
    redis.call('ZADD', ns .. 'jobs:delayed', run_at, id)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'delayed')
  end
end
