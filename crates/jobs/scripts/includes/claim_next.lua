--- @include "claim_job"

-- Claims up to `count` jobs in the order of the list, which is read in growing windows; `heads` are the ids of the first
-- one, if they were read already. Remembers how far the head of the list holds nothing but jobs that this worker can
-- never run. Gives nothing when all that it looked at is claimed; else counts, unreadable ids, what to remember.
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
  local from, window, removed, leading = 0, math.min(count, limit), 0, 0
  -- What is remembered: the first job that stays, the last one that this worker can never run, and its place.
  local first, keeps, tail, place = nil, true, '', -1
  if fresh then tail, place = last, resume - 1 end
  if fresh == 0 then from, first = resume, head end

  while #claimed < count and counts[1] < limit do
    local most = math.min(window, limit - counts[1])
    if fresh and from < fresh then most = math.min(most, fresh - from) end
    heads = heads or redis.call('LRANGE', waiting, from, from + most - 1)
    if #heads == 0 then break end
    local keys = {}
    for i = 1, #heads do keys[i] = ns .. 'jobs:data:' .. heads[i] end
    local texts = redis.call('MGET', unpack(keys))
    for i = 1, #heads do
      if #claimed >= count or counts[1] >= limit then break end
      local id, at = heads[i], from + i - 1
      counts[1] = counts[1] + 1
      local reason, may_change = claim_job(id, texts[i])
      local is_fresh = fresh and at < fresh
      if not reason then
        removed = removed + 1
        if at == leading then leading = leading + 1 else scattered[#scattered + 1] = id end
        if is_fresh then place = place - 1 end
      else
        counts[reason] = counts[reason] + 1
        if reason == MALFORMED and #malformed < 20 then malformed[#malformed + 1] = id end
        first = first or id
        if may_change then
          -- A job that may become claimable without moving ends what may be passed over.
          if is_fresh then tail, place = '', -1 end
          keeps = false
        elseif keeps and not is_fresh then
          tail, place = id, at - removed
        end
      end
    end
    if #heads < most then break end
    from = from + #heads
    if fresh and from >= fresh and from < resume then from = resume end
    window = window < 8 and 8 or (window < 64 and 64 or 100)
    heads = nil
  end
  if leading > 0 then redis.call('LTRIM', waiting, leading, '-1') end
  for _, id in ipairs(scattered) do redis.call('LREM', waiting, 1, id) end
  if plain and counts[1] == #claimed then return '' end
  return { counts, malformed, { first or head, tail, place } }
end
