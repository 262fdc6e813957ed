-- promote: move jobs that are due from `delayed` to `waiting`. Anybody may do it at any time.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  batch
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:delayed {ns}:events:stream {ns}:x:wake
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES how many moved, then when the next one is due or an empty text
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "read_job"
--- @include "push_waiting"
--- @include "is_high"
--- @include "append_event"
--- @include "type_body"
--- @include "wake_workers"
--- @include "join_group"

local delayed, moved, kinds = ns .. 'jobs:delayed', 0, {}
redis.call('LLEN', KEYS[1])
redis.call('XLEN', ns .. 'events:stream')
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, ARGV[3])
for _, id in ipairs(due) do
  redis.call('ZREM', delayed, id)
  local text = redis.call('GET', ns .. 'jobs:data:' .. id)
  if text then
    local kind = string.match(text, '^{"jobId":"[^"\\]*","type":"([^"\\]+)",')
    local job = (not kind or string.find(opts, 'p', 1, true)) and read_job(text) or nil
    kind = kind or job and job.type or ''
    push_waiting(id, job and string.find(opts, 'p', 1, true) and is_high(job))
    join_group(id, job or text)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
    append_event('promoted', id, type_body(kind))
    kinds[kind] = true
    moved = moved + 1
  else
    redis.call('DEL', ns .. 'jobs:status:' .. id)
  end
end
for kind in pairs(kinds) do wake_workers(kind) end
local next_due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
return { moved, next_due[2] or '' }
