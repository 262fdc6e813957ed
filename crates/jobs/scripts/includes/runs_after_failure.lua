-- Whether a job wants to run even when one that it depends on fails.
local function runs_after_failure(job)
  return type(job.x) == 'table' and job.x.onDependencyFailed == 'ignore'
end
