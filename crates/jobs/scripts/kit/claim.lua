
-- Claims where the head of the list holds more than plain jobs. Reads ids in growing windows, takes a lock for
-- winners only, and remembers how far the head holds nothing but jobs that this worker can never run: `head` was
-- the first of them, `last` the last, at `index`.
local PAUSED, LIMITED, TARGET, LOCKED, MALFORMED = 2, 3, 4, 5, 6

-- Type, then the whole job or the text of its target where more than the type decides.
local TAIL = '^,"metadata":{},"createdAt":%d+,"attempts":%d+}$'
local function look(text)
  local kind = string.match(text, '^{"jobId":"[^"\\]*","type":"([^"\\]+)",')
  if kind and not string.find(text, '"rateLimit"', 1, true) and not string.find(text, '"x"', 1, true) then
    local _, at = string.find(text, '"target"', 1, true)
    if not at then return kind end
    if not string.find(text, '"target"', at, true) then
      if string.sub(text, at + 1, at + 3) == ':{}' then return kind end
      local target = string.match(text, '^:(%b{})', at + 1)
      if target and string.find(string.sub(text, at + 2 + #target), TAIL) then return kind, nil, target end
    end
  end
  local job = kit.read(text)
  if job then return job.type, job end
end

-- Routing and limits, made for the first job that asks for them.
local function rules()
  if kit.aims then return end

  local function has(list, wanted)
    for _, one in ipairs(list) do if one == wanted then return true end end
    return false
  end

  local function meets(wanted, mine, all, every)
    if type(wanted) ~= 'table' or #wanted == 0 then return true end
    if all and every then
      for _, one in ipairs(wanted) do if not has(mine, one) then return false end end
      return true
    end
    if all then return has(wanted, mine[1]) end
    for _, one in ipairs(wanted) do if has(mine, one) then return true end end
    return false
  end

  local mine
  kit.aims = function(target)
    if type(target) ~= 'table' then return true end
    if type(target.server) == 'string' and target.server ~= '' then return target.server == me end
    mine = mine or cjson.decode(ARGV[10])
    local all = type(target.mode) == 'string' and target.mode ~= 'any'
    return meets(target.stack, mine.stack, all) and meets(target.capabilities, mine.capabilities, all, true)
      and meets(target.region, mine.region, all)
  end

  kit.suits = function(job)
    local x = job.x
    if type(x) == 'table' and type(x.exclude) == 'table' and has(x.exclude, me) then return false end
    return kit.aims(job.target)
  end

  -- A counter as it stands after what this step has done so far.
  local function counted(memo, name, key, changed)
    if not memo[name] then memo[name] = tonumber(redis.call('GET', key) or 0) or 0 end
    return memo[name] + changed
  end

  -- How many were claimed in the sixty seconds before now, for jobs that ask for it so exactly.
  local function slid(kind)
    local key = ns .. 'x:slide:' .. kind
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', tonumber(now) - 60000))
    return redis.call('ZCARD', key)
  end

  kit.slides = function(job)
    return type(job.x) == 'table' and job.x.limiter == 'sliding'
  end

  kit.limited = function(job, kind, memo, changed)
    local limit = job.rateLimit
    if type(limit) ~= 'table' then return false end
    local most, per_minute = limit.maxConcurrent, limit.maxPerMinute
    if type(most) == 'number' and counted(memo, 'running', ns .. 'ratelimit:concurrent:' .. kind, changed) >= most then
      return true
    end
    if type(per_minute) ~= 'number' then return false end
    if kit.slides(job) then return slid(kind) >= per_minute end
    return counted(memo, 'minute', ns .. 'ratelimit:minute:' .. kind, 0) >= per_minute
  end
end

-- Where to look: the new heads `0 .. fresh - 1`, then from `resume` on.
local function places(head, last, index)
  if last == '' then return nil, 0 end
  local waiting, fresh = KEYS[1], 0
  if redis.call('LINDEX', waiting, 0) ~= head then
    fresh = redis.call('LPOS', waiting, head, 'MAXLEN', 128) or 64
  end
  if redis.call('LINDEX', waiting, index + fresh) == last then return fresh, index + fresh + 1 end
  -- Others took jobs away in front of it. Farther back than it was, it is a job that came back.
  local place = redis.call('LPOS', waiting, last, 'MAXLEN', index + fresh + 1)
  if place and place >= fresh then return fresh, place + 1 end
  return nil, 0
end

-- What becomes of one job: nil when it is claimed or gone, else the reason and whether that can change.
local targets = {}
local function judge(id, text, malformed)
  if not text then
    if redis.call('EXISTS', ns .. 'jobs:data:' .. id, ns .. 'jobs:lock:' .. id) > 0 then return LOCKED, true end
    return nil
  end
  local kind, job, target = look(text)
  if not kind then
    if #malformed < 20 then malformed[#malformed + 1] = id end
    return MALFORMED
  end
  local memo = memos[kind] or memo_of(kind)
  if not memo.handled then return TARGET end
  if memo.paused then return PAUSED, true end
  if target and targets[target] == nil then
    local fine, read = pcall(cjson.decode, target)
    rules()
    targets[target] = fine and kit.aims(read)
  end
  if target and not targets[target] then return TARGET end
  if job then
    rules()
    if not kit.suits(job) then return TARGET end
    if kit.limited(job, kind, memo, more[kind] or 0) then return LIMITED, true end
  end
  if not take(id, kind, text) then return LOCKED, true end
  local limit_of = job and job.rateLimit
  if type(limit_of) == 'table' and type(limit_of.maxPerMinute) == 'number' then
    local minute = redis.pcall('INCR', ns .. 'ratelimit:minute:' .. kind)
    if minute == 1 then redis.call('EXPIRE', ns .. 'ratelimit:minute:' .. kind, 60) end
    memo.minute = type(minute) == 'number' and minute or nil
    if kit.slides(job) then
      redis.call('ZADD', ns .. 'x:slide:' .. kind, now, id .. ' ' .. now)
      redis.call('EXPIRE', ns .. 'x:slide:' .. kind, 60)
    end
  end
  return nil
end

-- Whether that is a job, and not of high priority.
local function is_low(text)
  local job = type(text) == 'string' and kit.read(text)
  return job and not kit.high(job)
end

local function low_at(place)
  local id = redis.call('LINDEX', waiting, place)
  return id and is_low(redis.pcall('GET', ns .. 'jobs:data:' .. id))
end

-- The last place of such a job. At the tail stand those that were promoted, of any priority.
local function last_low()
  local last = redis.call('LLEN', waiting) - 1
  if low_at(last) then return last end
  local from, keys = math.max(0, last - 99), {}
  for i, id in ipairs(redis.call('LRANGE', waiting, from, last)) do keys[i] = ns .. 'jobs:data:' .. id end
  local texts = #keys > 0 and redis.call('MGET', unpack(keys)) or {}
  for i = #texts, 1, -1 do
    if is_low(texts[i]) then return from + i - 1 end
  end
end

-- Where the jobs of high priority end, which stand in front of the others: by doubling, then by halving. And the side
-- of the list that is nearer.
local function behind_high()
  local last, high, at = last_low(), -1, 0
  if not last then return end
  while not low_at(at) do
    high = at
    at = math.min(2 * at + 1, last)
  end
  while at - high > 1 do
    local middle = math.floor((at + high) / 2)
    if low_at(middle) then at = middle else high = middle end
  end
  return at, at * 2 > last and -1 or 1
end

-- Takes up to `owed` jobs from behind those of high priority.
local function pay(owed, count, limit)
  local from, side = behind_high()
  local window, seen, paid = 8, 0, {}
  while from and #paid < owed and #ids < count and seen < limit do
    local heads, keys = redis.call('LRANGE', waiting, from, from + window - 1), {}
    if #heads == 0 then break end
    for i, id in ipairs(heads) do keys[i] = ns .. 'jobs:data:' .. id end
    local texts = redis.call('MGET', unpack(keys))
    for i, id in ipairs(heads) do
      if #paid >= owed or #ids >= count then break end
      if is_low(texts[i]) and not judge(id, texts[i], {}) then paid[#paid + 1] = id end
    end
    seen, from, window = seen + #heads, from + #heads, 64
  end
  for _, id in ipairs(paid) do redis.call('LREM', waiting, side, id) end
end

-- `heads` and `texts` were read already, and the first `taken` of them are claimed. A line end as `last` asks for
-- jobs from behind those of high priority first; `index` says how many.
kit.search = function(heads, texts, taken)
  local count, limit, head, last = tonumber(ARGV[7]), tonumber(ARGV[12]), ARGV[13], ARGV[14]
  if last == '\n' then
    pay(tonumber(ARGV[15]), count, limit)
    last = ''
  end
  local scan, malformed = { #ids, 0, 0, 0, 0, 0 }, {}
  local slow, removed, fast = {}, taken, taken
  local fresh, resume = places(head, last, tonumber(ARGV[15]))
  local from, window = 0, count
  local known = fresh ~= nil
  local first, still, tail, place = nil, true, '', -1
  if known and fresh == 0 then from, first = resume, head end
  if known then tail, place = last, resume - 1 end

  while #ids < count and scan[1] < limit do
    if not heads then
      local upto = math.min(from + window, from + limit - scan[1])
      if known and from < fresh then upto = math.min(upto, fresh) end
      heads = redis.call('LRANGE', waiting, from, upto - 1)
      if #heads == 0 then break end
      local keys = {}
      for i, id in ipairs(heads) do keys[i] = ns .. 'jobs:data:' .. id end
      texts = redis.call('MGET', unpack(keys))
    end
    for i = taken + 1, #heads do
      if #ids >= count or scan[1] >= limit then break end
      local id, at = heads[i], from + i - 1
      scan[1] = scan[1] + 1
      local reason, may_change = judge(id, texts[i], malformed)
      if not reason then
        removed = removed + 1
        if at == fast then fast = fast + 1 else slow[#slow + 1] = id end
        if known and at < fresh then place = place - 1 end
      else
        scan[reason] = scan[reason] + 1
        first = first or id
        if may_change then
          -- A job that may become claimable without moving ends what may be passed over.
          if known and at < fresh then tail, place = '', -1 end
          still = false
        elseif still and not (known and at < fresh) then
          tail, place = id, at - removed
        end
      end
    end
    from = from + #heads
    if known and from >= fresh and from < resume then from = resume end
    window = window < 8 and 8 or (window < 64 and 64 or 100)
    heads, taken = nil, 0
  end
  if fast > 0 then redis.call('LTRIM', waiting, fast, '-1') end
  for _, id in ipairs(slow) do redis.call('LREM', waiting, 1, id) end
  return { scan, malformed, { first or head, tail, place } }
end
