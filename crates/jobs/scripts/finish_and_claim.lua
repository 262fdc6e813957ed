-- finish_and_claim: the hot path of a worker. Ends attempts it owns and claims the next jobs, in one step.
-- KEYS 1   waiting  {ns}:jobs:waiting
-- ARGV 1   now
-- ARGV 2   opts
-- ARGV 3   result_ttl
-- ARGV 4   retention
-- ARGV 5   worker
-- ARGV 6   finishing
-- ARGV 7   claiming
-- ARGV 8   last_head
-- ARGV 9   lock_ttl
-- ARGV 10  routing
-- ARGV 11  types
-- ARGV 12  scan_limit
-- ARGV 13  first_seen
-- ARGV 14  last_seen
-- ARGV 15  last_index
-- ARGV 16.. attempts
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:queues:paused {ns}:ratelimit:concurrent:{jobType} {ns}:ratelimit:minute:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:slide:{jobType} {ns}:x:rate:{jobType} {ns}:x:limits {ns}:x:passed {ns}:x:groups {ns}:x:group:{group}
-- BUILDS {ns}:x:group_limits {ns}:x:group_runs:{group} {ns}:x:group_rate:{group}
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- BUILDS {ns}:x:cron_failed {ns}:x:index {ns}:x:flow:{jobId}
-- GIVES what was written: nothing when all was, else a word per attempt (written, cancelled, lost, changed); what was looked at: nothing when all of it was claimed, else counts, unreadable ids, what to remember; then id and text of each job
local waiting, now, opts, result_ttl, retention, me = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local ns = string.sub(waiting, 1, -13)
local active, claimed_at = ns .. 'jobs:active', ns .. 'x:claimed'

-- Every key whose type is not sure is read before anything is written: a wrong type would stop the step halfway.
redis.call('SCARD', active)
redis.call('HLEN', claimed_at)
redis.call('XLEN', ns .. 'events:stream')
local heads = redis.call('LRANGE', waiting, 0, ARGV[8])

-- Marks that most queues do not have: paused types, limits, stretches of the list that were passed over; then
-- what the end of a job looks at: jobs to be cancelled, jobs that depend on others, jobs that were taken back from a dead worker.
local marks = {}
if redis.call('EXISTS', ns .. 'queues:paused', ns .. 'x:limits', ns .. 'x:group_limits', ns .. 'x:passed',
  ns .. 'x:cancelled', ns .. 'x:parked', ns .. 'x:recoveries') > 0 then
  marks.paused = redis.call('EXISTS', ns .. 'queues:paused') == 1
  marks.limits = redis.call('EXISTS', ns .. 'x:limits') == 1
  marks.group_limits = redis.call('EXISTS', ns .. 'x:group_limits') == 1
  marks.passed = redis.call('EXISTS', ns .. 'x:passed') == 1
  marks.cancelled = redis.call('EXISTS', ns .. 'x:cancelled') == 1
  marks.parked = redis.call('EXISTS', ns .. 'x:parked') == 1
  marks.recovered = redis.call('EXISTS', ns .. 'x:recoveries') == 1
end

-- How many more of each type run after this step, or fewer; the answer.
local running, answer = {}, { '', '' }

--- @include "finish_attempts"
--- @include "claim_next"

if ARGV[6] ~= '0' then
  local list_changed
  answer[1], list_changed = finish_attempts(tonumber(ARGV[6]))
  if list_changed then heads = nil end
end
if ARGV[7] ~= '0' then
  answer[2] = claim_next(ARGV[14] == '' and heads or nil)
  if #claimed > 0 then
    redis.call('MSET', unpack(claimed_states))
    redis.call('SADD', active, unpack(claimed))
    redis.call('HSET', claimed_at, unpack(claimed_times))
  end
end
for kind, by in pairs(running) do
  if by ~= 0 then
    --- @include "count_running"
    count_running(kind, by)
  end
end
return answer
