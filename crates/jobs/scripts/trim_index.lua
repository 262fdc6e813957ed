-- trim_index: drop the entries of the index whose jobs are all gone, in one stretch of those that are old enough. Safe from several processes.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  kept_ms
-- BUILDS {ns}:jobs:data:{jobId} {ns}:x:index {ns}:x:index:trim
-- GIVES more | done
local ns, now, kept_ms = string.sub(KEYS[1], 1, -13), tonumber(ARGV[1]), tonumber(ARGV[2])
local index, state = ns .. 'x:index', ns .. 'x:index:trim'
local ENTRIES, IDS, PAUSE = 100, 1000, 10000

-- Where the last look ended, when the next one may begin, how many jobs this pass found alive.
local function read_state()
  local at, rest, alive = string.match(redis.call('GET', state) or '', '^(%S+) (%d+) (%d+)$')
  return at or '-', tonumber(rest or 0), tonumber(alive or 0)
end

local function alive_in(lines)
  local keys = {}
  for id in string.gmatch(lines, '[^\n]+') do keys[#keys + 1] = ns .. 'jobs:data:' .. id end
  return #keys, #keys > 0 and redis.call('EXISTS', unpack(keys)) or 0
end

local at, rest, alive = read_state()
if now < rest and rest - now < 86400000 then return 'done' end
local entries = redis.call('XRANGE', index, at == '-' and at or '(' .. at, '+', 'COUNT', ENTRIES)
-- From the beginning on all were gone so far: they go by one command.
local leads, upto, gone, looked, over = at == '-', nil, {}, 0, #entries < ENTRIES
for _, entry in ipairs(entries) do
  local id, fields = entry[1], entry[2]
  if (tonumber(fields[2]) or 0) + kept_ms > now then
    over = true
    break
  end
  local count, living = alive_in(fields[4] or '')
  looked, alive = looked + count, alive + living
  if living > 0 then leads, at = false, id
  elseif leads then upto = id
  else gone[#gone + 1], at = id, id end
  if looked >= IDS then
    over = false
    break
  end
end
if upto then
  local ms, seq = string.match(upto, '^(%d+)%-(%d+)$')
  redis.call('XTRIM', index, 'MINID', ms .. '-' .. string.format('%.0f', tonumber(seq) + 1))
end
if #gone > 0 then redis.call('XDEL', index, unpack(gone)) end
if over then at, rest, alive = '-', now + PAUSE + math.floor(alive / 10), 0 end
redis.call('SET', state, string.format('%s %.0f %.0f', at, rest, alive), 'EX', '3600')
return over and 'done' or 'more'
