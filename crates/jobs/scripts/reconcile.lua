-- reconcile: count the active jobs of each type and set the counters that are suspected to be wrong.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  most
-- ARGV 2  suspects
-- ARGV 3.. types
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:active {ns}:ratelimit:concurrent:{jobType}
-- GIVES type, counter, count and whether it was set, for each that differs; nothing when there are too many jobs
local ns, most, suspects = string.sub(KEYS[1], 1, -13), tonumber(ARGV[1]), tonumber(ARGV[2])
local active, count, answers = ns .. 'jobs:active', {}, {}
if redis.call('SCARD', active) > most then return answers end
local ids = redis.call('SMEMBERS', active)
for from = 1, #ids, 200 do
  local keys = {}
  for i = from, math.min(from + 199, #ids) do keys[#keys + 1] = ns .. 'jobs:data:' .. ids[i] end
  for _, text in ipairs(redis.call('MGET', unpack(keys))) do
    local fine, job = pcall(cjson.decode, text or '')
    if fine and type(job) == 'table' and type(job.type) == 'string' then
      count[job.type] = (count[job.type] or 0) + 1
    end
  end
end
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
return answers
