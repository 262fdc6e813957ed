-- finish_and_claim: the hot path of a worker. Ends attempts it owns and claims the next jobs, in one step.
-- KEYS 1   waiting  {ns}:jobs:waiting
-- ARGV 1   now
-- ARGV 2   opts
-- ARGV 3   result_ttl
-- ARGV 4   retention
-- ARGV 5   worker
-- ARGV 6   finishing
-- ARGV 7   claiming
-- ARGV 8   upto
-- ARGV 9   lock_ttl
-- ARGV 10  routing
-- ARGV 11  types
-- ARGV 12  scan_limit
-- ARGV 13  head
-- ARGV 14  last
-- ARGV 15  index
-- ARGV 16.. outcomes
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:queues:paused {ns}:ratelimit:concurrent:{jobType} {ns}:ratelimit:minute:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:slide:{jobType}
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- GIVES what was written: nothing when all was, else a word per outcome (written, cancelled, lost, changed); what was looked at: nothing when all of it was claimed, else numbers, unreadable ids, what to remember; then id and text of each job
local redis, string = redis, string
local waiting = KEYS[1]
local ns = string.sub(waiting, 1, -13)
local now, opts, result_ttl, retention, me = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local keeps = not string.find(opts, 'n', 1, true)

-- The type of a job that every worker for its type may run. Members of a job have a fixed order, which saves
-- reading it; what is written otherwise is read in full, by `kit.search`.
local function plain(text)
  if string.find(text, 'rateLimit"', 1, true) then return end
  if string.find(text, 'x"', 1, true) and string.find(text, '"x"', 1, true) then return end
  local _, at = string.find(text, 'target"', 1, true)
  if at and (string.sub(text, at + 1, at + 3) ~= ':{}' or string.find(text, 'target"', at, true)) then return end
  return string.match(text, '^{"jobId":"[^"\\]*","type":"([^"\\%c]+)",')
end

-- So many more of a type run, or fewer; never below zero, whatever a foreign program left there.
local function run(kind, by)
  local key = ns .. 'ratelimit:concurrent:' .. kind
  local runs = redis.pcall('INCRBY', key, by)
  if type(runs) ~= 'number' or runs < 0 then redis.call('SET', key, math.max(by, 0)) end
end

-- One attempt that ended plainly, at most, and one plain job at the head: what a worker with one slot asks for. All
-- is decided before the first write; nothing is given, and nothing written, where it is not that simple. It stands
-- first and alone, because making the functions that the rest needs would cost it a sixth of its time.
local function single(finishing)
  local call, id = redis.call, ARGV[16]
  local active, claimed, stream = ns .. 'jobs:active', ns .. 'x:claimed', ns .. 'events:stream'
  call('SCARD', active)
  call('HLEN', claimed)
  call('XLEN', stream)
  if call('EXISTS', ns .. 'queues:paused', ns .. 'x:cancelled', ns .. 'x:parked', ns .. 'x:recoveries') > 0 then return end
  if finishing and redis.pcall('GET', ns .. 'jobs:lock:' .. id) ~= me then return end
  local head, kind, text = call('LINDEX', waiting, '0'), nil, nil
  if head then
    local types = ARGV[11]
    text = redis.pcall('GET', ns .. 'jobs:data:' .. head)
    kind = type(text) == 'string' and plain(text)
    if not kind then return end
    if types ~= '' and not string.find(types, '\n' .. kind .. '\n', 1, true) then return end
    if not call('SET', ns .. 'jobs:lock:' .. head, me, 'NX', 'EX', ARGV[9]) then return end
  end
  local tells = string.find(opts, 'e', 1, true)
  if finishing then
    local freed, result = { ns .. 'jobs:lock:' .. id }, ns .. 'jobs:result:' .. id
    local status, data = ns .. 'jobs:status:' .. id, ns .. 'jobs:data:' .. id
    if keeps then call('SET', result, ARGV[19], 'EX', result_ttl) else freed[2] = result end
    if retention == '0' then
      call('DEL', status, data, ns .. 'jobs:progress:' .. id, unpack(freed))
    else
      call('DEL', unpack(freed))
      call('SET', status, 'completed', 'EX', retention)
      call('EXPIRE', data, retention)
    end
    if tells then
      call('XADD', stream, 'MAXLEN', '~', '10000', '*', 'type', 'completed', 'at', now, 'id', id, 'body', ARGV[20])
    end
    call('SREM', active, id)
    call('HDEL', claimed, id)
  end
  if head then
    call('LPOP', waiting)
    call('SET', ns .. 'jobs:status:' .. head, 'active')
    call('SADD', active, head)
    call('HSET', claimed, head, now .. ' ' .. me)
    -- Trimming is left to its end.
    if tells then
      local body = '{"type":"' .. kind .. '","worker":"' .. me .. '"}'
      call('XADD', stream, '*', 'type', 'claimed', 'at', now, 'id', head, 'body', body)
    end
  end
  if not (finishing and head and ARGV[18] == kind) then
    if finishing then run(ARGV[18], -1) end
    if head then run(kind, 1) end
  end
  return { '', '', head or nil, text }
end

if retention ~= '-1' and ARGV[7] == '1' and ARGV[14] == '' then
  local finishing = ARGV[6] == '1' and ARGV[17] == 'completed'
  local short = (finishing or ARGV[6] == '0') and single(finishing)
  if short then return short end
end

local kit = {}
-- The answer, with what is claimed at its end; how many more or fewer of each type run after this step; what is
-- known of types; what most queues do not use.
local reply, ids, kinds, more, memos, special = { '', '' }, {}, {}, {}, {}, nil

-- Whose attempts end, where each starts among the arguments, and whether one needs more than a result.
local function outcomes(count)
  local locks, starts, at, odd = {}, {}, 16, false
  for i = 1, count do
    starts[i], locks[i] = at, ns .. 'jobs:lock:' .. ARGV[at]
    if ARGV[at + 1] == 'completed' then at = at + 5 else at, odd = at + 12, true end
  end
  return locks, starts, odd
end

-- A key of another type would stop the step halfway: each is touched before anything is written.
local function touch(odd)
  redis.call('SCARD', ns .. 'jobs:active')
  redis.call('HLEN', ns .. 'x:claimed')
  redis.call('XLEN', ns .. 'events:stream')
  if redis.call('EXISTS', ns .. 'queues:paused', ns .. 'x:cancelled', ns .. 'x:parked', ns .. 'x:recoveries') > 0 then
    special = {
      pauses = redis.call('EXISTS', ns .. 'queues:paused') == 1,
      cancelled = redis.call('EXISTS', ns .. 'x:cancelled') == 1,
      parked = redis.call('EXISTS', ns .. 'x:parked') == 1,
      recovered = redis.call('EXISTS', ns .. 'x:recoveries') == 1,
    }
  end
  if odd or special then
    redis.call('ZCARD', ns .. 'jobs:delayed')
    redis.call('LLEN', ns .. 'jobs:deadletter')
  end
end

local function finish(locks, starts)
  local call, tell, ARGV = redis.call, kit.tell, ARGV
  local results, states, texts = ns .. 'jobs:result:', ns .. 'jobs:status:', ns .. 'jobs:data:'
  local owners, usual = call('MGET', unpack(locks)), not special and retention ~= '-1'
  local words, done, freed, n = nil, {}, {}, 0
  for i = 1, #starts do
    local at, word = starts[i], 'written'
    local id, outcome, kind = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if owners[i] ~= me then
      word = 'lost'
    elseif usual and outcome == 'completed' then
      -- As `kit.close` does it, without what is looked up for each.
      local m = #freed
      if keeps then
        call('SET', results .. id, ARGV[at + 3], 'EX', result_ttl)
      else
        m = m + 1
        freed[m] = results .. id
      end
      if retention == '0' then
        freed[m + 1], freed[m + 2], freed[m + 3] = states .. id, texts .. id, ns .. 'jobs:progress:' .. id
      else
        call('SET', states .. id, outcome, 'EX', retention)
        call('EXPIRE', texts .. id, retention)
      end
      tell(outcome, id, ARGV[at + 4])
    else
      kit.rest()
      word = kit.finish(id, outcome, kind, at)
    end
    if word == 'written' or word == 'cancelled' then
      n = n + 1
      done[n], freed[#freed + 1] = id, locks[i]
      more[kind] = (more[kind] or 0) - 1
    end
    if word ~= 'written' then
      words = words or {}
      words[i] = word
    end
  end
  if n > 0 then
    call('DEL', unpack(freed))
    call('SREM', ns .. 'jobs:active', unpack(done))
    call('HDEL', ns .. 'x:claimed', unpack(done))
  end
  if words then
    for i = 1, #starts do words[i] = words[i] or 'written' end
    reply[1] = words
  end
end

-- What is known of a type: whether this worker runs it, and may now.
local function memo_of(kind)
  local types = ARGV[11]
  local memo = { handled = types == '' or string.find(types, '\n' .. kind .. '\n', 1, true) ~= nil }
  memo.paused = memo.handled and special and special.pauses
    and (redis.call('SISMEMBER', ns .. 'queues:paused', kind) == 1
      or redis.call('SISMEMBER', ns .. 'queues:paused', '*') == 1)
  local name = string.find(kind, '[%c"\\]') and cjson.encode(kind) or '"' .. kind .. '"'
  memo.body = '{"type":' .. name .. ',"worker":"' .. me .. '"}'
  memos[kind] = memo
  return memo
end

-- Takes a job for this worker, unless somebody holds its lock.
local lock, lock_ttl = ns .. 'jobs:lock:', ARGV[9]
local function take(id, kind, text)
  if not redis.call('SET', lock .. id, me, 'NX', 'EX', lock_ttl) then return false end
  local n = #ids + 1
  ids[n], kinds[n], reply[2 * n + 1], reply[2 * n + 2] = id, kind, id, text
  more[kind] = (more[kind] or 0) + 1
  return true
end

-- Takes from the head of the list as far as that is plain, then searches.
local function claim(heads)
  local keys, texts, taken = {}, {}, 0
  if heads then
    local data = ns .. 'jobs:data:'
    for i = 1, #heads do keys[i] = data .. heads[i] end
    if #heads > 0 then texts = redis.call('MGET', unpack(keys)) end
    for i = 1, #heads do
      local kind = texts[i] and plain(texts[i])
      local memo = kind and (memos[kind] or memo_of(kind))
      if not memo or not memo.handled or memo.paused or not take(heads[i], kind, texts[i]) then break end
      taken = i
    end
    if taken == #heads then
      if taken > 0 then redis.call('LTRIM', waiting, taken, '-1') end
      return
    end
  end
  kit.rest()
  reply[2] = kit.search(heads, texts, taken)
end

local function main()
  local locks, starts, odd = outcomes(tonumber(ARGV[6]))
  touch(odd)
  -- Nothing that ends plainly comes back into the list, so its head can be read before.
  local claiming, heads = ARGV[7] ~= '0', nil
  local early = claiming and not odd and not special and ARGV[14] == ''
  if early then heads = redis.call('LRANGE', waiting, '0', ARGV[8]) else redis.call('LLEN', waiting) end
  if #starts > 0 then finish(locks, starts) end
  if claiming then
    if not early and ARGV[14] == '' then heads = redis.call('LRANGE', waiting, '0', ARGV[8]) end
    claim(heads)
  end
  if #ids > 0 then
    local status, states, times, at_by = ns .. 'jobs:status:', {}, {}, now .. ' ' .. me
    for i, id in ipairs(ids) do
      states[2 * i - 1], states[2 * i] = status .. id, 'active'
      times[2 * i - 1], times[2 * i] = id, at_by
    end
    redis.call('MSET', unpack(states))
    redis.call('SADD', ns .. 'jobs:active', unpack(ids))
    redis.call('HSET', ns .. 'x:claimed', unpack(times))
    for i, id in ipairs(ids) do kit.tell('claimed', id, memos[kinds[i]].body) end
  end
  for kind, by in pairs(more) do
    if by ~= 0 then run(kind, by) end
  end
  return reply
end
