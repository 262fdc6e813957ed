--- @include "is_high"
--- @include "requeue_job"

-- Puts a job that waits for no other one where it belongs: into `waiting`, or `delayed` until its time.
local function place_job(id, job)
  local schedule, at = type(job.schedule) == 'table' and job.schedule or {}, nil
  if type(schedule.runAt) == 'number' then
    at = schedule.runAt
  elseif type(schedule.delay) == 'number' and schedule.delay > 0 then
    at = tonumber(now) + schedule.delay
  end
  if at and at > tonumber(now) then
    redis.call('ZADD', ns .. 'jobs:delayed', string.format('%.0f', at), id)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'delayed')
  else
    requeue_job(id, job.type, is_high(job), job)
  end
end
