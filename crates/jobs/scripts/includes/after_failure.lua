--- @include "follows"

-- What becomes of a job when `dependency` did not complete: `fail`, `wait` until it is retried or removed, or `ignore`.
local function after_failure(job, dependency)
  local word = type(job.x) == 'table' and job.x.onDependencyFailed
  local wish = word == 'wait' and word or 'fail'
  if word == 'ignore' or follows(job, dependency) then wish = 'ignore' end
  return wish
end
