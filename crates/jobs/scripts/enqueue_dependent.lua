-- enqueue_dependent: store a new job that depends on others, or follows the last one of its sequence. It waits in no queue until the last of them has ended.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  id
-- ARGV 6  text
-- ARGV 7  digest
-- ARGV 8  window
-- ARGV 9.. depends_on
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:progress:{jobId}
-- BUILDS {ns}:jobs:delayed {ns}:events:stream {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId}
-- BUILDS {ns}:x:unique:{digest} {ns}:x:batch:{batchId} {ns}:x:wake {ns}:x:sequences
-- BUILDS {ns}:x:index
-- GIVES a word, then a detail: `parked`, `placed`, `failed`, `exists`, `held` and an id, `unknown` and an id
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "read_job"
--- @include "read_state"
--- @include "append_event"
--- @include "index_jobs"
--- @include "type_body"
--- @include "runs_after_failure"
--- @include "fail_dependent"
--- @include "promote_parked"

local id, text, digest, sequences = ARGV[5], ARGV[6], ARGV[7], ns .. 'x:sequences'
redis.call('LLEN', KEYS[1])
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('SCARD', ns .. 'x:parked')
redis.call('HLEN', sequences)
redis.call('XLEN', ns .. 'events:stream')
if redis.call('EXISTS', ns .. 'jobs:data:' .. id) == 1 then return { 'exists', id } end
local job = read_job(text)
local unmet, broken = {}, nil
for at = 9, #ARGV do
  local status = redis.call('GET', ns .. 'jobs:status:' .. ARGV[at])
  if not status then return { 'unknown', ARGV[at] } end
  local bad = status == 'failed' or status == 'dead'
  if bad and not runs_after_failure(job) then broken = broken or ARGV[at] end
  if not bad and status ~= 'completed' then unmet[#unmet + 1] = ARGV[at] end
end
if digest ~= '' then
  local holder = redis.call('GET', ns .. 'x:unique:' .. digest)
  if holder and redis.call('EXISTS', ns .. 'jobs:status:' .. holder) == 1 then return { 'held', holder } end
  redis.call('SET', ns .. 'x:unique:' .. digest, id, 'PX', ARGV[8])
end
local sequence = type(job.x) == 'table' and job.x.sequence
if type(sequence) == 'string' and sequence ~= '' then
  -- The last one of the sequence that has not ended is the one to follow.
  local last = redis.call('HGET', sequences, sequence)
  local status = last and redis.call('GET', ns .. 'jobs:status:' .. last)
  if status and not is_over(status) then unmet[#unmet + 1] = last end
  redis.call('HSET', sequences, sequence, id)
end
redis.call('MSET', ns .. 'jobs:data:' .. id, text, ns .. 'jobs:status:' .. id, 'waiting')
append_event('dispatched', id, type_body(job.type))
index_jobs({ id })
if broken then
  fail_dependent(id, job, broken)
  return { 'failed', broken }
end
if #unmet == 0 then
  promote_parked(id, job)
  return { 'placed', id }
end
redis.call('SADD', ns .. 'x:parked', id)
for _, parent in ipairs(unmet) do
  redis.call('SADD', ns .. 'x:deps:' .. id, parent)
  redis.call('SADD', ns .. 'x:children:' .. parent, id)
end
return { 'parked', id }
