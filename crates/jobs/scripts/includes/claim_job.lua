--- @include "append_event"
--- @include "peek_job"
--- @include "is_readable"

-- Why a job is passed over. The numbers are places in the answer's counts; the first of them counts what was looked at.
local PAUSED, LIMITED, TARGET, LOCKED, MALFORMED = 2, 3, 4, 5, 6

-- Claimed so far: ids, and the arguments that mark them as active, with time and worker.
local claimed, claimed_states, claimed_times, claim_time = {}, {}, {}, now .. ' ' .. me
-- What is known of types, of targets and of this worker.
local types_seen, targets_seen, worker_facts = {}, nil, nil

-- Claims one job for this worker, if it may run it. Nothing when it is claimed, or gone and to be forgotten; else why
-- not, and whether that can change while the job stays where it is.
local function claim_job(id, text)
  if not text then
    if redis.call('EXISTS', ns .. 'jobs:data:' .. id, ns .. 'jobs:lock:' .. id) > 0 then return LOCKED, true end
    return nil
  end
  local kind, job, target = peek_job(text)
  if not kind then return MALFORMED end
  local seen, count_minute = types_seen[kind], nil
  if not seen then
    --- @include "see_type"
    seen = see_type(kind)
    types_seen[kind] = seen
  end
  if not seen.handled then return TARGET end
  if seen.paused then return PAUSED, true end
  if target then
    targets_seen = targets_seen or {}
    if targets_seen[target] == nil then
      --- @include "matches_target"
      local fine, read = pcall(cjson.decode, target)
      targets_seen[target] = fine and matches_target(read)
    end
    if not targets_seen[target] then return TARGET end
  elseif job then
    --- @include "matches_target"
    --- @include "rate_limit"
    if not matches_job(job) then return TARGET end
    if is_limited(job, kind, seen, running[kind] or 0) then return LIMITED, true end
    count_minute = count_claim
  end
  if not is_readable(text) then return MALFORMED end
  if not redis.call('SET', ns .. 'jobs:lock:' .. id, me, 'NX', 'EX', ARGV[9]) then return LOCKED, true end
  if count_minute then count_minute(id, job, kind, seen) end
  append_event('claimed', id, seen.body)
  local n = #claimed
  claimed[n + 1] = id
  claimed_states[2 * n + 1], claimed_states[2 * n + 2] = ns .. 'jobs:status:' .. id, 'active'
  claimed_times[2 * n + 1], claimed_times[2 * n + 2] = id, claim_time
  answer[2 * n + 3], answer[2 * n + 4] = id, text
  running[kind] = (running[kind] or 0) + 1
  return nil
end
