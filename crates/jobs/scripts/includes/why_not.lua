--- @include "peek_job"
--- @include "see_type"

-- Why a job is passed over. The numbers are places in the answer's counts; the first of them counts what was looked at.
local PAUSED, LIMITED, TARGET, LOCKED, MALFORMED = 2, 3, 4, 5, 6
-- What is known of targets and of this worker.
local targets_seen, worker_facts = {}, nil

-- Why this worker may not run a job of this type, with these limits, and with the text of this target or as the decoded
-- job says, at this moment. Nothing when it may. Turns of groups are not looked at.
local function why_not(seen, limits, target, job)
  if not seen.handled then return TARGET end
  if seen.paused then return PAUSED end
  if target then
    if targets_seen[target] == nil then
      --- @include "matches_target"
      local fine, read = pcall(cjson.decode, target)
      targets_seen[target] = fine and matches_target(read)
    end
    if not targets_seen[target] then return TARGET end
  elseif job then
    --- @include "matches_target"
    if not matches_job(job) then return TARGET end
  end
  if seen.limit or limits ~= NO_LIMITS then
    --- @include "rate_limit"
    if seen.limit and is_type_limited(seen) or is_limited(limits, seen) then return LIMITED end
  end
end

-- Whether that can change while the job stays where it is.
local function may_change(reason)
  return reason ~= TARGET and reason ~= MALFORMED
end
