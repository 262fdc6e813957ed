--- @include "read_job"
--- @include "count_end"
--- @include "release_dependents"

-- What follows from the end of a job of which only the text is known: it is counted, and its dependents go on or fail.
local function end_job(id, text, status, result)
  local job = text and read_job(text)
  if job then count_end_of(id, job, status) end
  if redis.call('EXISTS', ns .. 'x:parked') == 1 then release_dependents(id, status, result) end
end
