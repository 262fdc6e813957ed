--- @include "close_job"

-- Ends a job as dead: it goes to the front of the dead letters. False when it fires again and so is never dead.
local function dead_letter(id, result, progressed, is_cron)
  if not close_job(id, 'dead', result, progressed, is_cron) then return false end
  redis.call('LPUSH', ns .. 'jobs:deadletter', id)
  return true
end
