--- @include "claim_job"

-- Claims up to `owed` jobs from behind those of high priority, so that these do not starve the others.
local function claim_behind_high(owed, count, limit)
  --- @include "read_job"
  --- @include "is_high"
  local waiting = KEYS[1]

  local function is_low(text)
    local job = type(text) == 'string' and read_job(text)
    return job and not is_high(job)
  end

  local function is_low_at(place)
    local id = redis.call('LINDEX', waiting, place)
    return id and is_low(redis.pcall('GET', ns .. 'jobs:data:' .. id))
  end

  local function texts_of(ids)
    local keys = {}
    for i, id in ipairs(ids) do keys[i] = ns .. 'jobs:data:' .. id end
    return #keys > 0 and redis.call('MGET', unpack(keys)) or {}
  end

  -- The last place of a job that is not of high priority. At the tail stand those that were promoted, of any priority.
  local function last_low()
    local last = redis.call('LLEN', waiting) - 1
    if is_low_at(last) then return last end
    local from = math.max(0, last - 99)
    local texts = texts_of(redis.call('LRANGE', waiting, from, last))
    for i = #texts, 1, -1 do
      if is_low(texts[i]) then return from + i - 1 end
    end
  end

  -- The first such place, by doubling, then by halving; and the side of the list that is nearer.
  local function first_low()
    local last, high, at = last_low(), -1, 0
    if not last then return end
    while not is_low_at(at) do
      high = at
      at = math.min(2 * at + 1, last)
    end
    while at - high > 1 do
      local middle = math.floor((at + high) / 2)
      if is_low_at(middle) then at = middle else high = middle end
    end
    return at, at * 2 > last and -1 or 1
  end

  local from, side = first_low()
  local window, looked, paid = 8, 0, {}
  while from and #paid < owed and #claimed < count and looked < limit do
    local ids = redis.call('LRANGE', waiting, from, from + window - 1)
    if #ids == 0 then break end
    local texts = texts_of(ids)
    for i, id in ipairs(ids) do
      if #paid >= owed or #claimed >= count then break end
      if is_low(texts[i]) and not claim_job(id, texts[i]) then paid[#paid + 1] = id end
    end
    looked, from, window = looked + #ids, from + #ids, 64
  end
  for _, id in ipairs(paid) do redis.call('LREM', waiting, side, id) end
end
