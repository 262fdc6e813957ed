-- remove: delete jobs with all that belongs to them, wherever they are. One that a worker holds is refused.
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
-- GIVES per job a word and its status before: `done`, `refused`, `missing`
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "append_event"
--- @include "type_body"
--- @include "end_job"
--- @include "release_dependents"
--- @include "read_state"
--- @include "take_out"
--- @include "check_types"

local function remove(id)
  local status, text, job = read_state(id)
  if not status then return 'missing', '' end
  if status == 'active' and redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1 then return 'refused', status end
  take_out(id, status, job)
  redis.call('DEL', ns .. 'jobs:data:' .. id, ns .. 'jobs:status:' .. id, ns .. 'jobs:result:' .. id,
    ns .. 'jobs:progress:' .. id, ns .. 'x:flow:' .. id)
  redis.call('HDEL', ns .. 'x:recoveries', id)
  append_event('removed', id, type_body(job and job.type or ''))
  if not is_over(status) then
    end_job(id, text, 'gone')
  elseif redis.call('EXISTS', ns .. 'x:parked') == 1 then
    -- A parent may wait for it to be retried.
    release_dependents(id, 'gone')
  end
  return 'done', status
end

check_types()
local answers = {}
for at = 5, #ARGV do
  local word, status = remove(ARGV[at])
  answers[#answers + 1], answers[#answers + 2] = word, status
end
return answers
