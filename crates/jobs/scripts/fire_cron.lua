-- fire_cron: fire one definition and set its next time, in one step, so that no firing is doubled or lost.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  id
-- ARGV 4  expected_score
-- ARGV 5  next_score
-- ARGV 6  old_text
-- ARGV 7  new_text
-- ARGV 8  overlap
-- ARGV 9  type
-- ARGV 10 instance_id
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:lock:{jobId} {ns}:jobs:cron {ns}:events:stream
-- BUILDS {ns}:x:wake {ns}:x:index
-- GIVES fired | coalesced | moved | changed | gone | rescored
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "push_waiting"
--- @include "append_event"
--- @include "index_jobs"
--- @include "type_json"
--- @include "type_body"
--- @include "wake_workers"

local cron, id, instance = ns .. 'jobs:cron', ARGV[3], ARGV[10]
local data, status = ns .. 'jobs:data:' .. id, ns .. 'jobs:status:' .. id
redis.call('LLEN', KEYS[1])
redis.call('XLEN', ns .. 'events:stream')
local score = redis.call('ZSCORE', cron, id)
if not score then return 'gone' end
if tonumber(score) ~= tonumber(ARGV[4]) then return 'moved' end
local text = redis.call('GET', data)
if not text then
  redis.call('ZREM', cron, id)
  return 'gone'
end
if text ~= ARGV[6] then return 'changed' end
if ARGV[5] == '' then redis.call('ZREM', cron, id) else redis.call('ZADD', cron, ARGV[5], id) end
-- A time that is no occurrence of the expression is corrected, never fired.
if ARGV[8] == 'rescore' then return 'rescored' end
if instance ~= '' then
  if redis.call('EXISTS', ns .. 'jobs:data:' .. instance) == 1 then return 'coalesced' end
  redis.call('MSET', ns .. 'jobs:data:' .. instance, ARGV[7], ns .. 'jobs:status:' .. instance, 'waiting')
  push_waiting(instance, false)
  index_jobs({ instance })
  append_event('fired', id, '{"type":' .. type_json(ARGV[9]) .. ',"instance":' .. cjson.encode(instance) .. '}')
else
  local is = redis.call('GET', status)
  local busy = is == 'waiting' or is == 'active' or is == 'delayed'
    or redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 1
  if busy and ARGV[8] == 'skip' then
    append_event('coalesced', id, type_body(ARGV[9]))
    return 'coalesced'
  end
  redis.call('SET', data, ARGV[7])
  redis.call('RPUSH', KEYS[1], id)
  redis.call('SET', status, 'waiting')
  append_event('fired', id, type_body(ARGV[9]))
end
wake_workers(ARGV[9])
return 'fired'
