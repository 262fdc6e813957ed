-- enqueue_dependent: store new jobs that depend on others, or follow the last one of their sequence; a flow is a tree of them, its children first. A job waits in no queue until the last of those has ended. All are stored, or none.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  max_waiting
-- ARGV 6.. jobs
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:progress:{jobId}
-- BUILDS {ns}:jobs:delayed {ns}:jobs:deadletter {ns}:events:stream {ns}:x:parked {ns}:x:deps:{jobId}
-- BUILDS {ns}:x:children:{jobId} {ns}:x:flow:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId} {ns}:x:wake
-- BUILDS {ns}:x:sequences {ns}:x:index
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES a word per job: `parked`, `placed`, `failed`, `dead`; or why nothing was stored and an id: `exists`, `held`, `unknown`; or one number, how many wait, when it is full
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "read_job"
--- @include "append_event"
--- @include "index_jobs"
--- @include "type_body"
--- @include "find_unmet"
--- @include "join_sequence"
--- @include "fail_dependent"
--- @include "place_job"
--- @include "park_job"

local waiting, most = redis.call('LLEN', KEYS[1]), tonumber(ARGV[5])
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('SCARD', ns .. 'x:parked')
redis.call('HLEN', ns .. 'x:sequences')
redis.call('XLEN', ns .. 'events:stream')
if most > 0 and waiting >= most then return waiting end

-- All are looked at before the first one is stored. Four arguments each: id, text, digest, window.
local jobs, known, holders = {}, {}, {}
for at = 6, #ARGV, 4 do
  local id, digest, job = ARGV[at], ARGV[at + 2], read_job(ARGV[at + 1])
  if known[id] or redis.call('EXISTS', ns .. 'jobs:data:' .. id) == 1 then return { 'exists', id } end
  for _, dependency in ipairs(job.dependsOn) do
    local exists = known[dependency] or redis.call('EXISTS', ns .. 'jobs:status:' .. dependency) == 1
    if not exists then return { 'unknown', dependency } end
  end
  if digest ~= '' then
    local holder = holders[digest] or redis.call('GET', ns .. 'x:unique:' .. digest)
    local holds = holder and (known[holder] or redis.call('EXISTS', ns .. 'jobs:status:' .. holder) == 1)
    if holds then return { 'held', holder } end
    holders[digest] = id
  end
  known[id], jobs[#jobs + 1] = true, job
end

local ids, words = {}, {}
for n, job in ipairs(jobs) do
  local id, text, digest, window = unpack(ARGV, 2 + 4 * n, 5 + 4 * n)
  local unmet, broken = find_unmet(id, job)
  local before = join_sequence(id, job)
  if before then unmet[#unmet + 1] = before end
  if digest ~= '' then redis.call('SET', ns .. 'x:unique:' .. digest, id, 'PX', window) end
  redis.call('MSET', ns .. 'jobs:data:' .. id, text, ns .. 'jobs:status:' .. id, 'waiting')
  append_event('dispatched', id, type_body(job.type))
  if broken then
    words[n] = fail_dependent(id, job, broken)
  elseif #unmet == 0 then
    place_job(id, job)
    words[n] = 'placed'
  else
    park_job(id, unmet)
    words[n] = 'parked'
  end
  ids[n] = id
end
index_jobs(ids)
return words
