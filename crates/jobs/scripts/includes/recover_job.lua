--- @include "append_event"
--- @include "type_json"
--- @include "type_body"
--- @include "read_job"
--- @include "is_high"
--- @include "count_running"
--- @include "failure_result"
--- @include "close_job"
--- @include "dead_letter"
--- @include "raise_alarm"
--- @include "requeue_job"
--- @include "end_job"

-- Takes back a job whose worker is gone and which is out of `active` already: into the queue again, or dead after `most`
-- times, or ended when its cancellation was asked for. Gives its type and what became of it.
local function recover_job(id, most)
  local text = redis.call('GET', ns .. 'jobs:data:' .. id)
  local job = text and read_job(text)
  local kind = job and job.type or ''
  if job then count_running(kind, -1) end
  local is_cron = redis.call('ZSCORE', ns .. 'jobs:cron', id)
  local became, result
  if redis.call('SREM', ns .. 'x:cancelled', id) == 1 then
    became, result = 'cancelled', failure_result('JobCancelled', 'cancelled while it ran')
    close_job(id, 'failed', result, not is_cron, is_cron)
    append_event('cancelled', id, type_body(kind))
  elseif not text then
    redis.call('DEL', ns .. 'jobs:status:' .. id)
    return kind, 'gone'
  elseif redis.call('HINCRBY', ns .. 'x:recoveries', id, 1) > most then
    became, result = 'dead', failure_result('WorkerLost', 'its workers died too many times')
    if not dead_letter(id, result, not is_cron, is_cron) then raise_alarm(id) end
    append_event('dead', id, '{"type":' .. type_json(kind) .. ',"error":"WorkerLost"}')
  else
    append_event('recovered', id, type_body(kind))
    requeue_job(id, kind, job and is_high(job), job)
    return kind, 'waiting'
  end
  redis.call('HDEL', ns .. 'x:recoveries', id)
  if not is_cron then end_job(id, text, became == 'dead' and 'dead' or 'failed', result) end
  return kind, became
end
