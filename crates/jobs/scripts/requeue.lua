-- requeue: put jobs back into `waiting` with a new text, from the dead letters, from `delayed`, or after their end. One waits again for what it depends on, where that has not ended, and for its sequence.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  allowed
-- ARGV 4.. jobs
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:delayed {ns}:jobs:deadletter {ns}:events:stream
-- BUILDS {ns}:jobs:result:{jobId} {ns}:x:batch:{batchId} {ns}:x:recoveries {ns}:x:wake {ns}:x:sequences
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES per job a word and its status before: `done`, `refused`, `changed`, `missing`
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "read_job"
--- @include "push_waiting"
--- @include "is_high"
--- @include "append_event"
--- @include "type_body"
--- @include "wake_workers"
--- @include "join_group"
--- @include "find_unmet"
--- @include "join_sequence"
--- @include "park_job"
--- @include "rejoin_flow"

local function requeue(id, old, new)
  local data = ns .. 'jobs:data:' .. id
  local text, status = redis.call('GET', data), redis.call('GET', ns .. 'jobs:status:' .. id) or ''
  if not text then return 'missing', status end
  if not string.find(ARGV[3], ' ' .. status .. ' ', 1, true) then return 'refused', status end
  if text ~= old then return 'changed', status end
  local job = read_job(new)
  if not job then return 'refused', status end
  if status == 'dead' and redis.call('LREM', ns .. 'jobs:deadletter', -1, id) == 0 then return 'refused', status end
  redis.call('ZREM', ns .. 'jobs:delayed', id)
  redis.call('SET', data, new)
  redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
  redis.call('HDEL', ns .. 'x:recoveries', id)
  local batch = type(job.x) == 'table' and type(job.x.batch) == 'string' and ns .. 'x:batch:' .. job.x.batch
  if batch and status ~= 'delayed' and redis.call('TYPE', batch).ok == 'hash' then
    redis.call('HINCRBY', batch, 'pending', 1)
    redis.call('HINCRBY', batch, status == 'completed' and 'completed' or 'failed', -1)
  end
  rejoin_flow(id, job)
  local unmet = find_unmet(id, job)
  local before = is_over(status) and join_sequence(id, job)
  if before then unmet[#unmet + 1] = before end
  if #unmet > 0 then
    park_job(id, unmet)
  else
    push_waiting(id, is_high(job))
    join_group(id, job)
  end
  append_event(status == 'delayed' and 'promoted' or 'requeued', id, type_body(job.type))
  if #unmet == 0 then wake_workers(job.type) end
  return 'done', status
end

redis.call('LLEN', KEYS[1])
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('HLEN', ns .. 'x:recoveries')
redis.call('SCARD', ns .. 'x:parked')
redis.call('HLEN', ns .. 'x:sequences')
redis.call('XLEN', ns .. 'events:stream')
local answers = {}
for at = 4, #ARGV, 3 do
  local word, status = requeue(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  answers[#answers + 1], answers[#answers + 2] = word, status
end
return answers
