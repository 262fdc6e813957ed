--- @include "append_event"
--- @include "type_json"
--- @include "failure_result"
--- @include "close_job"
--- @include "dead_letter"
--- @include "count_end"
--- @include "is_flow"
--- @include "unpark_job"

-- Ends a job because one that it depends on did not complete. In a flow it is a dead letter, so that it stays until
-- somebody has decided about it. Gives its status and its result.
local function fail_dependent(id, job, dependency)
  unpark_job(id)
  local status = is_flow(job) and 'dead' or 'failed'
  local result = failure_result('DependencyFailed', 'job ' .. dependency .. ' did not complete')
  if status == 'dead' then dead_letter(id, result) else close_job(id, status, result) end
  append_event(status, id, '{"type":' .. type_json(job.type) .. ',"error":"DependencyFailed"}')
  count_end_of(id, job, status)
  return status, result
end
