--- @include "claim_job"
--- @include "open_memory"

-- Claims up to `count` jobs in the order of the list, which is read in growing windows; `heads` are the ids of the first
-- one, if they were read already. Stretches whose jobs are all stopped are skipped unread. Remembers how far the head of
-- the list holds nothing but jobs that this worker can never run. Gives nothing when all that it looked at is claimed;
-- else counts, unreadable ids, what to remember.
local function claim_next(heads)
  local waiting, count, limit = KEYS[1], tonumber(ARGV[7]), tonumber(ARGV[12])
  local head, last, index = ARGV[13], ARGV[14], tonumber(ARGV[15])
  local fresh, resume, plain = nil, 0, last == ''
  if last == '\n' then
    --- @include "claim_behind_high"
    claim_behind_high(index, count, limit)
    last = ''
  elseif not plain then
    --- @include "resume_scan"
    fresh, resume = resume_scan(head, last, index)
  end
  local counts, malformed, scattered = { #claimed, 0, 0, 0, 0, 0 }, {}, {}
  local from, window, gone, leading = 0, math.min(count, limit), {}, 0
  -- What this worker remembers; made when there is something.
  local own = fresh and { tail = last, place = resume - 1, keeps = true }
  if fresh == 0 then from, own.first = resume, head end
  -- What all workers remember: the stretches as they were, the next of them, and as they are after this claim.
  local known, since, next_known, stretches, was_kept = {}, now, 1, {}, 0
  if marks.passed then known, since = open_memory().recall() end

  -- Both are made only where something is remembered: most claims pay for neither.
  local keep_known, skip_stopped
  if marks.passed or fresh then
    -- Keeps the known stretches from `was_kept` up to `to`, and forgets what was read of them.
    keep_known = function(to)
      while known[next_known] do
        local one = known[next_known]
        local starts, stops = math.max(one.start, was_kept), math.min(one.stop, to)
        if stops > starts then open_memory().keep_part(stretches, one, starts, stops) end
        if one.stop > to then break end
        next_known = next_known + 1
      end
      was_kept = to
    end

    -- The place behind the jobs that need not be looked at, and how many there are to look at from there.
    skip_stopped = function(at)
      while true do
        if fresh and at >= fresh and at < resume then
          keep_known(resume)
          at = resume
        end
        local one = known[next_known]
        while one and one.stop <= at do
          next_known = next_known + 1
          one = known[next_known]
        end
        if not one or one.start > at then return at, one and one.start - at end
        local stopped, changes = open_memory().all_stopped(one.classes)
        if not stopped then return at, one.stop - at end
        own = stay(own, one.last, one.stop - 1 - #gone, changes, fresh and at < fresh)
        keep_known(one.stop)
        at = one.stop
      end
    end
  end

  if from > 0 then keep_known(from) end
  while #claimed < count and counts[1] < limit do
    local at, at_most = from, nil
    if skip_stopped then at, at_most = skip_stopped(from) end
    if at ~= from then from, heads = at, nil end
    local most = math.min(window, limit - counts[1], at_most or limit)
    if fresh and from < fresh then most = math.min(most, fresh - from) end
    if heads and #heads > most then heads = nil end
    heads = heads or redis.call('LRANGE', waiting, from, from + most - 1)
    if #heads == 0 then break end
    local keys = {}
    for i = 1, #heads do keys[i] = ns .. 'jobs:data:' .. heads[i] end
    local texts = redis.call('MGET', unpack(keys))
    for i = 1, #heads do
      if #claimed >= count or counts[1] >= limit then break end
      local id = heads[i]
      at = from + i - 1
      counts[1], was_kept = counts[1] + 1, at + 1
      local reason, seen, limits, target, job, group = claim_job(id, texts[i])
      local is_fresh = fresh and at < fresh
      if not reason then
        gone[#gone + 1] = at
        if opened_turns then opened_turns.elsewhere[id] = nil end
        if opened_memory then opened_memory.leave_out(stretches, at) end
        if at == leading then leading = leading + 1 else scattered[#scattered + 1] = id end
        if is_fresh then own.place = own.place - 1 end
      else
        counts[reason] = counts[reason] + 1
        if reason == MALFORMED and #malformed < 20 then malformed[#malformed + 1] = id end
        own = stay(own, id, at - #gone, may_change(reason), is_fresh)
        if seen then open_memory().pass_over(stretches, id, at, seen, limits, target, job, group) end
      end
    end
    if #heads < most then break end
    from = from + #heads
    window = window < 8 and 8 or (window < 64 and 64 or 100)
    heads = nil
  end
  -- Places that were passed over because of a job that stood behind them.
  while opened_turns and #claimed < count and opened_turns.take_next(claim_job) do end
  for id, at in pairs(opened_turns and opened_turns.elsewhere or {}) do
    gone[#gone + 1], scattered[#scattered + 1] = at, id
  end
  if leading > 0 then redis.call('LTRIM', waiting, leading, '-1') end
  for _, id in ipairs(scattered) do redis.call('LREM', waiting, 1, id) end
  if keep_known then keep_known(math.huge) end
  if opened_memory then opened_memory.remember(stretches, since, gone) end
  if plain and counts[1] == #claimed then return '' end
  own = own or {}
  return { counts, malformed, { own.first or head, own.tail or '', own.place or -1 } }
end
