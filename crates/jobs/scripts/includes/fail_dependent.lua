--- @include "append_event"
--- @include "type_json"
--- @include "failure_result"
--- @include "close_job"
--- @include "count_end"

-- Ends a job because one that it depends on did not complete.
local function fail_dependent(id, job, dependency)
  redis.call('SREM', ns .. 'x:parked', id)
  redis.call('DEL', ns .. 'x:deps:' .. id)
  close_job(id, 'failed', failure_result('DependencyFailed', 'job ' .. dependency .. ' did not complete'))
  append_event('failed', id, '{"type":' .. type_json(job.type) .. ',"error":"DependencyFailed"}')
  count_end_of(id, job, false)
end
