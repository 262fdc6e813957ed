--- @include "append_event"
--- @include "close_job"
--- @include "retry_job"
--- @include "hand_back"

-- What follows from the end of a job that is marked, unique, in a batch, or on which others may depend.
local function follow_up(id, well, digest, batch)
  --- @include "count_end"
  --- @include "release_dependents"
  if marks.recovered and redis.call('HDEL', ns .. 'x:recoveries', id) == 1 then
    -- A worker that died may have left some.
    redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400')
  end
  count_end(id, digest ~= '' and digest, batch ~= '' and batch, well)
  if marks.parked then release_dependents(id, well) end
end

-- Ends one attempt of this worker as `outcome` says: completed, failed, dead, retry or hand_back. `flags` are letters:
-- c cron, p progress, l result too large, u unique, b in a batch, r a retry, h of high priority. With any of them, five
-- more arguments stand from `at` on: new text, old text, run at, digest of the uniqueness key, batch.
local function finish_attempt(id, outcome, kind, result, body, flags, at, freed)
  local event, word, digest, batch = outcome, 'written', '', ''
  if flags ~= '' then
    digest, batch = ARGV[at + 3], ARGV[at + 4]
    if outcome == 'retry' and redis.call('GET', ns .. 'jobs:data:' .. id) ~= ARGV[at + 1] then return 'changed' end
  end
  if marks.cancelled and redis.call('SREM', ns .. 'x:cancelled', id) == 1 then
    --- @include "failure_result"
    --- @include "type_body"
    outcome, event, word = 'failed', 'cancelled', 'cancelled'
    result, body = failure_result('JobCancelled', 'cancelled while it ran'), type_body(kind)
  end
  if outcome == 'retry' then
    retry_job(id, kind, result, flags, ARGV[at], ARGV[at + 2])
    append_event('retried', id, body)
    return word
  elseif outcome == 'hand_back' then
    hand_back(id, kind, flags)
    append_event('requeued', id, body)
    return word
  end
  local progressed, is_cron = false, false
  if flags ~= '' then
    progressed, is_cron = string.find(flags, 'p', 1, true), string.find(flags, 'c', 1, true)
  end
  if outcome == 'dead' then
    --- @include "dead_letter"
    dead_letter(id, result, progressed, is_cron)
  else
    close_job(id, outcome, result, progressed, is_cron, freed)
  end
  append_event(event, id, body)
  if flags ~= '' and outcome == 'completed' and string.find(flags, 'l', 1, true) then
    append_event('result_too_large', id, body)
  end
  if flags ~= '' or marks.any then follow_up(id, outcome == 'completed', digest, batch) end
  return word
end
