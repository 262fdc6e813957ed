--- @include "append_event"
--- @include "why_not"
--- @include "is_readable"
--- @include "open_turns"

-- Claimed so far: ids, and the arguments that mark them as active, with time, worker and type.
local claimed, claimed_states, claimed_times, claim_time = {}, {}, {}, now .. ' ' .. me .. ' '

-- Claims one job for this worker, if it may run it. Nothing when it is claimed, or gone and to be forgotten; else why
-- not, and what decided. A job of a group gives its place to the group whose turn it is, unless `has_turn`.
local claim_job
function claim_job(id, text, has_turn)
  if not text then
    if redis.call('EXISTS', ns .. 'jobs:data:' .. id, ns .. 'jobs:lock:' .. id) > 0 then return LOCKED end
    return nil
  end
  local kind, limits, target, job, group = peek_job(text)
  if not kind then return MALFORMED end
  local seen, reason = see_type(kind), nil
  if group and not has_turn then
    if not is_readable(text) then return MALFORMED end
    reason = open_turns().give_place(id, group, claim_job)
    if not reason then return nil end
  else
    reason = why_not(seen, limits, target, job)
  end
  if reason then return reason, seen, limits, target, job, group end
  if not is_readable(text) then return MALFORMED end
  if not redis.call('SET', ns .. 'jobs:lock:' .. id, me, 'NX', 'EX', ARGV[9]) then return LOCKED end
  if seen.limit or limits ~= NO_LIMITS then
    --- @include "rate_limit"
    count_claim(id, limits, seen)
  end
  append_event('claimed', id, seen.body)
  local n = #claimed
  claimed[n + 1] = id
  claimed_states[2 * n + 1], claimed_states[2 * n + 2] = ns .. 'jobs:status:' .. id, 'active'
  claimed_times[2 * n + 1], claimed_times[2 * n + 2] = id, claim_time .. kind
  answer[2 * n + 3], answer[2 * n + 4] = id, text
  running[kind] = (running[kind] or 0) + 1
  return nil
end
