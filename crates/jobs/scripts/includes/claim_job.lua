--- @include "peek_job"
--- @include "type_json"
--- @include "matches_target"
--- @include "rate_limit"

-- Why a job is passed over. The numbers are places in the answer's counts; the first of them counts what was looked at.
local PAUSED, LIMITED, TARGET, LOCKED, MALFORMED = 2, 3, 4, 5, 6

-- Claimed so far, as id and text, and the type of each; what is known of types and of targets.
local claimed, claimed_kinds, types_seen, targets_seen = {}, {}, {}, {}

-- What is known of a type: whether this worker handles it, and may now.
local function see_type(kind)
  local types = ARGV[11]
  local seen = { handled = types == '' or string.find(types, '\n' .. kind .. '\n', 1, true) ~= nil }
  seen.paused = seen.handled and marks.paused
    and (redis.call('SISMEMBER', ns .. 'queues:paused', kind) == 1
      or redis.call('SISMEMBER', ns .. 'queues:paused', '*') == 1)
  seen.body = '{"type":' .. type_json(kind) .. ',"worker":"' .. me .. '"}'
  types_seen[kind] = seen
  return seen
end

-- Claims one job for this worker, if it may run it. Nothing when it is claimed, or gone and to be forgotten; else why
-- not, and whether that can change while the job stays where it is.
local function claim_job(id, text, malformed, running)
  if not text then
    if redis.call('EXISTS', ns .. 'jobs:data:' .. id, ns .. 'jobs:lock:' .. id) > 0 then return LOCKED, true end
    return nil
  end
  local kind, job, target = peek_job(text)
  if not kind then
    if #malformed < 20 then malformed[#malformed + 1] = id end
    return MALFORMED
  end
  local seen = types_seen[kind] or see_type(kind)
  if not seen.handled then return TARGET end
  if seen.paused then return PAUSED, true end
  if target and targets_seen[target] == nil then
    local fine, read = pcall(cjson.decode, target)
    targets_seen[target] = fine and matches_target(read)
  end
  if target and not targets_seen[target] then return TARGET end
  if job and not matches_job(job) then return TARGET end
  if job and is_limited(job, kind, seen, running[kind] or 0) then return LIMITED, true end
  if not redis.call('SET', ns .. 'jobs:lock:' .. id, me, 'NX', 'EX', ARGV[9]) then return LOCKED, true end
  if job then count_claim(id, job, kind, seen) end
  local n = #claimed
  claimed[n + 1], claimed[n + 2], claimed_kinds[n / 2 + 1] = id, text, kind
  running[kind] = (running[kind] or 0) + 1
  return nil
end
