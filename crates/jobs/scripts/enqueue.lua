-- enqueue: store new jobs and put each where it belongs, all in one step. Nothing happens to one that exists or is not unique.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  max_waiting
-- ARGV 4.. jobs
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:delayed {ns}:jobs:cron {ns}:events:stream
-- BUILDS {ns}:x:unique:{digest} {ns}:x:wake
-- GIVES a text per job: empty, `exists`, or `held` and the id that holds the uniqueness key; or one number, how many wait, when it is full
local redis, string = redis, string
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"
--- @include "type_body"
--- @include "push_waiting"
--- @include "wake_workers"

-- Whether the uniqueness key is free for this job, and taken by it then; else the id that holds it.
local function take_key(digest, id, window, policy)
  local key = ns .. 'x:unique:' .. digest
  local holder = redis.call('GET', key)
  if holder then
    local status = redis.call('GET', ns .. 'jobs:status:' .. holder)
    local waits = status == 'waiting' or status == 'delayed'
    local runs = status == 'active'
    if policy == 'replace' and waits then
      -- Its place in the list is found empty by the next claim and dropped there.
      redis.call('ZREM', ns .. 'jobs:delayed', holder)
      redis.call('DEL', ns .. 'jobs:data:' .. holder, ns .. 'jobs:status:' .. holder)
      append_event('removed', holder, '{"replacedBy":"' .. id .. '"}')
    elseif (waits or runs) and not (policy == 'queue_next' and runs) then
      return holder
    end
  end
  redis.call('SET', key, id, 'PX', window)
end

local waiting = redis.call('LLEN', KEYS[1])
local most = tonumber(ARGV[3])
if most > 0 and waiting >= most then return waiting end
redis.call('XLEN', ns .. 'events:stream')
-- Nine arguments each: id, fresh, place, score, text, type, digest, window, policy.
for at = 4, #ARGV, 9 do
  local place = ARGV[at + 2]
  if place == 'delayed' or place == 'cron' then redis.call('ZCARD', ns .. 'jobs:' .. place) end
  if ARGV[at + 6] ~= '' then redis.call('ZCARD', ns .. 'jobs:delayed') end
end
local answers, texts, backs, kinds, bodies = {}, {}, {}, {}, {}
for at = 4, #ARGV, 9 do
  local id, fresh, place, kind, digest = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 5], ARGV[at + 6]
  local data, held = ns .. 'jobs:data:' .. id, nil
  local exists = fresh == '' and redis.call('EXISTS', data) == 1
  if not exists and digest ~= '' then held = take_key(digest, id, ARGV[at + 7], ARGV[at + 8]) end
  if exists then
    answers[#answers + 1] = 'exists'
  elseif held then
    answers[#answers + 1] = 'held ' .. held
  else
    answers[#answers + 1] = ''
    if fresh == '' then
      redis.call('MSET', data, ARGV[at + 4], ns .. 'jobs:status:' .. id, 'waiting')
      if place ~= 'back' and place ~= 'front' then redis.call('SET', ns .. 'jobs:status:' .. id, place) end
    else
      local n = #texts
      texts[n + 1], texts[n + 2], texts[n + 3] = data, ARGV[at + 4], ns .. 'jobs:status:' .. id
      texts[n + 4] = (place == 'back' or place == 'front') and 'waiting' or place
    end
    if place == 'back' then
      backs[#backs + 1] = id
      kinds[kind] = true
    elseif place == 'front' then
      push_waiting(id, true)
      kinds[kind] = true
    else
      redis.call('ZADD', ns .. 'jobs:' .. place, ARGV[at + 3], id)
    end
    bodies[kind] = bodies[kind] or type_body(kind)
    append_event('dispatched', id, bodies[kind])
  end
end
if #texts > 0 then redis.call('MSET', unpack(texts)) end
if #backs > 0 then redis.call('RPUSH', KEYS[1], unpack(backs)) end
for kind in pairs(kinds) do wake_workers(kind) end
return answers
