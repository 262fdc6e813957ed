-- stop: cancel, bury or remove jobs by hand, wherever they are. A running one is asked to stop, or taken from its worker.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  verb
-- ARGV 6.. ids
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:cancel {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- GIVES per job a word and its status before: `done`, `asked` (a running job was told), `refused`, `missing`
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "count_running"
--- @include "read_job"
--- @include "type_body"
--- @include "append_event"
--- @include "end_job"
--- @include "close_job"
--- @include "dead_letter"
--- @include "type_json"
--- @include "failure_result"

-- Out of every structure that may hold it.
local function take_out(id, status)
  if status == 'waiting' then
    if redis.call('SREM', ns .. 'x:parked', id) == 1 then redis.call('DEL', ns .. 'x:deps:' .. id)
    else redis.call('LREM', KEYS[1], 0, id) end
  end
  if status == 'dead' then redis.call('LREM', ns .. 'jobs:deadletter', -1, id) end
  redis.call('ZREM', ns .. 'jobs:delayed', id)
  redis.call('ZREM', ns .. 'jobs:cron', id)
end

-- From its worker, whose late result finds no lock and writes nothing.
local function take_away(id, job)
  redis.call('DEL', ns .. 'jobs:lock:' .. id)
  redis.call('HDEL', ns .. 'x:claimed', id)
  redis.call('SREM', ns .. 'x:cancelled', id)
  if redis.call('SREM', ns .. 'jobs:active', id) == 1 and job then count_running(job.type, -1) end
  redis.call('PUBLISH', ns .. 'x:cancel', id)
end

local function stop(id, verb)
  local status, text = redis.call('GET', ns .. 'jobs:status:' .. id), redis.call('GET', ns .. 'jobs:data:' .. id)
  if not status and not text then return 'missing', '' end
  status = status or ''
  local job = text and read_job(text)
  local body = type_body(job and job.type or '')
  local over = status == 'completed' or status == 'failed' or status == 'dead'
  if verb == 'remove' then
    if status == 'active' and redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1 then return 'refused', status end
    take_out(id, status)
    if status == 'active' then take_away(id, job) end
    redis.call('DEL', ns .. 'jobs:data:' .. id, ns .. 'jobs:status:' .. id, ns .. 'jobs:result:' .. id,
      ns .. 'jobs:progress:' .. id)
    redis.call('HDEL', ns .. 'x:recoveries', id)
    append_event('removed', id, body)
    if not over then end_job(id, text, false) end
    return 'done', status
  end
  if over or (verb == 'bury' and status == 'cron') then return 'refused', status end
  local locked = redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1
  if verb == 'cancel' and status == 'active' and locked then
    redis.call('SADD', ns .. 'x:cancelled', id)
    redis.call('PUBLISH', ns .. 'x:cancel', id)
    return 'asked', status
  end
  take_out(id, status)
  if status == 'active' then take_away(id, job) end
  if verb == 'bury' then
    dead_letter(id, failure_result('Buried', 'buried by hand'), true)
    append_event('dead', id, '{"type":' .. type_json(job and job.type or '') .. ',"error":"Buried"}')
  else
    close_job(id, 'failed', failure_result('JobCancelled', 'cancelled before it ran'), true)
    append_event('cancelled', id, body)
  end
  redis.call('HDEL', ns .. 'x:recoveries', id)
  end_job(id, text, false)
  return 'done', status
end

redis.call('LLEN', KEYS[1])
redis.call('SCARD', ns .. 'jobs:active')
redis.call('ZCARD', ns .. 'jobs:delayed')
redis.call('ZCARD', ns .. 'jobs:cron')
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('SCARD', ns .. 'x:parked')
redis.call('SCARD', ns .. 'x:cancelled')
redis.call('HLEN', ns .. 'x:recoveries')
redis.call('XLEN', ns .. 'events:stream')
local answers = {}
for at = 6, #ARGV do
  local word, status = stop(ARGV[at], ARGV[5])
  answers[#answers + 1], answers[#answers + 2] = word, status
end
return answers
