-- reconcile: count the active jobs of each type and set the counters that are suspected to be wrong. Looks at the types that are asked for, those of active jobs, of the first thousand that wait and of those that claims pass over.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  most
-- ARGV 2  suspects
-- ARGV 3.. types
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:active {ns}:ratelimit:concurrent:{jobType} {ns}:x:claimed {ns}:x:passed
-- GIVES type, counter, count and whether it was set, for each that differs; nothing when there are too many jobs
local ns, most, suspects = string.sub(KEYS[1], 1, -13), tonumber(ARGV[1]), tonumber(ARGV[2])
local active, count, answers = ns .. 'jobs:active', {}, {}

--- @include "peek_job"

-- The types of jobs whose texts have to be read, each as often as it is met.
local function each_type(ids, note)
  for from = 1, #ids, 100 do
    local keys = {}
    for i = from, math.min(from + 99, #ids) do keys[#keys + 1] = ns .. 'jobs:data:' .. ids[i] end
    local texts = redis.call('MGET', unpack(keys))
    for i = 1, #keys do
      local kind = texts[i] and peek_job(texts[i])
      if kind then note(kind) end
    end
  end
end

if redis.call('SCARD', active) > most then return answers end
-- Our claims say the type of a job; those of other programs are read.
local claimed, theirs = {}, {}
local pairs_of_claimed = redis.call('HGETALL', ns .. 'x:claimed')
for at = 1, #pairs_of_claimed, 2 do claimed[pairs_of_claimed[at]] = pairs_of_claimed[at + 1] end
local function count_one(kind) count[kind] = (count[kind] or 0) + 1 end
for _, id in ipairs(redis.call('SMEMBERS', active)) do
  local kind = claimed[id] and string.match(claimed[id], '^%S+ %S+ (.+)$')
  if kind then count_one(kind) else theirs[#theirs + 1] = id end
end
each_type(theirs, count_one)

-- The first `suspects` types were found wrong before; the others are only looked at.
local seen = {}
local function look(kind, set)
  if seen[kind] then return end
  seen[kind] = true
  local key = ns .. 'ratelimit:concurrent:' .. kind
  local counter, right = redis.pcall('GET', key), count[kind] or 0
  if type(counter) == 'table' then return end
  if (tonumber(counter or 0) or -1) ~= right then
    if set then redis.call('SET', key, right) end
    local n = #answers
    answers[n + 1], answers[n + 2], answers[n + 3] = kind, tostring(counter or ''), right
    answers[n + 4] = set and 1 or 0
  end
end
for at = 3, #ARGV do look(ARGV[at], at - 2 <= suspects) end
for kind in pairs(count) do look(kind, false) end
each_type(redis.call('LRANGE', KEYS[1], 0, 999), function(kind) look(kind, false) end)
local passed = redis.pcall('GET', ns .. 'x:passed')
for kind in string.gmatch(type(passed) == 'string' and passed or '', '\t([^\t\31]+)\31') do look(kind, false) end
return answers
