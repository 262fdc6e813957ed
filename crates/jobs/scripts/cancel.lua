-- cancel: end jobs by hand that have not ended, wherever they are, and in a flow what is beneath them. A running one is asked to stop.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5.. ids
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:cancel {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- BUILDS {ns}:x:cron_failed {ns}:x:index {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES per job a word and its status before: `done`, `asked` (a running job was told), `refused`, `missing`
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "append_event"
--- @include "type_body"
--- @include "failure_result"
--- @include "close_job"
--- @include "end_job"
--- @include "read_state"
--- @include "take_out"
--- @include "check_types"
--- @include "is_flow"

local cancel
function cancel(id)
  local status, text, job = read_state(id)
  if not status then return 'missing', '' end
  if is_over(status) then return 'refused', status end
  if status == 'active' and redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1 then
    redis.call('SADD', ns .. 'x:cancelled', id)
    redis.call('PUBLISH', ns .. 'x:cancel', id)
    return 'asked', status
  end
  take_out(id, status, job)
  local result = failure_result('JobCancelled', 'cancelled before it ran')
  close_job(id, 'failed', result, true)
  append_event('cancelled', id, type_body(job and job.type or ''))
  redis.call('HDEL', ns .. 'x:recoveries', id)
  end_job(id, text, 'failed', result)
  -- Nobody else wants the children of its flow.
  for _, child in ipairs(job and is_flow_parent(job) and job.dependsOn or {}) do
    local _, _, below = read_state(child)
    if below and is_flow(below) and below.x.parent == id then cancel(child) end
  end
  return 'done', status
end

check_types()
local answers = {}
for at = 5, #ARGV do
  local word, status = cancel(ARGV[at])
  answers[#answers + 1], answers[#answers + 2] = word, status
end
return answers
