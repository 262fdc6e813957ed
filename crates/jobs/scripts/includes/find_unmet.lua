--- @include "read_state"
--- @include "after_failure"
--- @include "note_child"

-- The dependencies that a job has to wait for; how the others ended is kept in its flow. Then the first one that failed and takes
-- the job with it.
local function find_unmet(id, job)
  local unmet, broken = {}, nil
  for _, dependency in ipairs(type(job.dependsOn) == 'table' and job.dependsOn or {}) do
    local status = redis.call('GET', ns .. 'jobs:status:' .. dependency)
    local wish = (status == 'failed' or status == 'dead') and after_failure(job, dependency)
    if status and (wish == 'wait' or not is_over(status)) then
      unmet[#unmet + 1] = dependency
    elseif status then
      if wish == 'fail' then broken = broken or dependency end
      note_child(id, job, dependency, status, redis.call('GET', ns .. 'jobs:result:' .. dependency))
    end
  end
  return unmet, broken
end
