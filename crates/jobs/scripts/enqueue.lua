-- enqueue: store new jobs and put each where it belongs, all in one step. Nothing happens to one that exists or is not unique.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  max_waiting
-- ARGV 4.. jobs
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:delayed {ns}:jobs:cron {ns}:events:stream
-- BUILDS {ns}:x:unique:{digest} {ns}:x:wake {ns}:x:index {ns}:x:flow:{jobId}
-- GIVES a text per job: empty, `exists`, or `held` and the id that holds the uniqueness key; or one number, how many wait, when it is full
local ns = string.sub(KEYS[1], 1, -13)
local now, opts = ARGV[1], ARGV[2]

--- @include "append_event"
--- @include "index_jobs"

-- Every key whose type is not sure is read before anything is written: a wrong type would stop the step halfway.
local waiting, most = redis.call('LLEN', KEYS[1]), tonumber(ARGV[3])
if most > 0 and waiting >= most then return waiting end
redis.call('XLEN', ns .. 'events:stream')
-- Nine arguments each: id, fresh, place, score, text, type, digest, window, policy.
for at = 4, #ARGV, 9 do
  local place = ARGV[at + 2]
  if place == 'delayed' or place == 'cron' then redis.call('ZCARD', ns .. 'jobs:' .. place) end
  if ARGV[at + 6] ~= '' then redis.call('ZCARD', ns .. 'jobs:delayed') end
end

-- New keys and ids for the end of the list are written together; types are known by the body of their event.
local answers, texts, backs, bodies, woken, stored = {}, {}, {}, {}, {}, {}
for at = 4, #ARGV, 9 do
  local id, fresh, place, kind, digest = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 5], ARGV[at + 6]
  local data, answer = ns .. 'jobs:data:' .. id, ''
  if fresh == '' and redis.call('EXISTS', data) == 1 then
    answer = 'exists'
  elseif digest ~= '' then
    --- @include "take_unique_key"
    local holder = take_unique_key(digest, id, ARGV[at + 7], ARGV[at + 8])
    if holder then answer = 'held ' .. holder end
  end
  answers[#answers + 1] = answer
  if answer == '' then
    local in_list = place == 'back' or place == 'front'
    local status_key, status = ns .. 'jobs:status:' .. id, in_list and 'waiting' or place
    if fresh == '' then
      -- The next one of the same id, in this very step, finds it there.
      redis.call('MSET', data, ARGV[at + 4], status_key, status)
    else
      local n = #texts
      texts[n + 1], texts[n + 2], texts[n + 3], texts[n + 4] = data, ARGV[at + 4], status_key, status
    end
    if place == 'back' then
      backs[#backs + 1] = id
    elseif place == 'front' then
      --- @include "push_waiting"
      push_waiting(id, true)
    else
      redis.call('ZADD', ns .. 'jobs:' .. place, ARGV[at + 3], id)
    end
    if not bodies[kind] then
      --- @include "type_body"
      bodies[kind] = type_body(kind)
    end
    if in_list then woken[kind] = true end
    append_event('dispatched', id, bodies[kind])
    stored[#stored + 1] = id
  end
end
if #texts > 0 then redis.call('MSET', unpack(texts)) end
if #backs > 0 then redis.call('RPUSH', KEYS[1], unpack(backs)) end
index_jobs(stored)
for kind in pairs(woken) do redis.call('PUBLISH', ns .. 'x:wake', kind) end
return answers
