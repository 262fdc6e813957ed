--- @include "append_event"
--- @include "close_job"

-- Ends one attempt of this worker as `outcome` says: completed, failed, dead, retry or hand_back. `flags` are letters:
-- c cron, p progress, l result too large, u unique, b in a batch, f parent in a flow, r a retry, h of high priority. With
-- any of them, five more arguments stand from `at` on: new text, old text, run at, digest of the uniqueness key, batch. For a
-- firing that is dead the first two are text and id of its dead letter; without them it raises the alarm.
local function finish_attempt(id, outcome, kind, result, body, flags, at, freed)
  local event, word, has_flags = outcome, 'written', flags ~= ''
  if outcome == 'retry' and redis.call('GET', ns .. 'jobs:data:' .. id) ~= ARGV[at + 1] then return 'changed' end
  if marks.cancelled and redis.call('SREM', ns .. 'x:cancelled', id) == 1 then
    --- @include "failure_result"
    --- @include "type_body"
    outcome, event, word = 'failed', 'cancelled', 'cancelled'
    result, body = failure_result('JobCancelled', 'cancelled while it ran'), type_body(kind)
  end
  if outcome == 'retry' then
    --- @include "retry_job"
    retry_job(id, kind, result, flags, ARGV[at], ARGV[at + 2])
    append_event('retried', id, body)
    return word
  elseif outcome == 'hand_back' then
    --- @include "hand_back"
    hand_back(id, kind, flags)
    append_event('requeued', id, body)
    return word
  end
  local progressed = has_flags and string.find(flags, 'p', 1, true)
  local is_cron = has_flags and string.find(flags, 'c', 1, true)
  if outcome == 'dead' then
    --- @include "dead_letter"
    if not dead_letter(id, result, progressed, is_cron) then
      --- @include "dead_firing"
      --- @include "raise_alarm"
      if ARGV[at] == '' then raise_alarm(id) else dead_firing(ARGV[at + 1], ARGV[at], result) end
    end
  else
    close_job(id, outcome, result, progressed, is_cron, freed)
    if is_cron and outcome == 'completed' then redis.call('HDEL', ns .. 'x:cron_failed', id) end
  end
  append_event(event, id, body)
  if has_flags and outcome == 'completed' and string.find(flags, 'l', 1, true) then
    append_event('result_too_large', id, body)
  end
  if marks.recovered and redis.call('HDEL', ns .. 'x:recoveries', id) == 1 then
    -- A worker that died may have left some.
    redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400')
  end
  if has_flags then
    --- @include "count_end"
    local digest, batch = ARGV[at + 3], ARGV[at + 4]
    count_end(id, digest ~= '' and digest, batch ~= '' and batch, outcome == 'completed')
    if string.find(flags, 'f', 1, true) then close_flow(id, outcome) end
  end
  if marks.parked then
    --- @include "release_dependents"
    release_dependents(id, outcome, result)
  end
  return word
end
