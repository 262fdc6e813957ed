-- claim_job: gives the first waiting job that this worker may run, locked for it.
-- KEYS 1 waiting  {ns}:jobs:waiting
-- KEYS 2 active   {ns}:jobs:active
-- KEYS 3 paused   {ns}:queues:paused
-- ARGV 1 workerId
-- ARGV 2 stacks
-- ARGV 3 capabilities
-- ARGV 4 regions
-- ARGV 5 now
-- ARGV 6 lockSeconds
-- ARGV 7 dataPrefix
-- ARGV 8 lockPrefix
-- ARGV 9 concurrentPrefix
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:lock:{jobId} {ns}:ratelimit:concurrent:{jobType}
-- GIVES the job's text as it is stored, or nil when none fits

local SCAN_MAX = 100 -- how many ids from the head one call looks at

local waiting, active, paused = KEYS[1], KEYS[2], KEYS[3]
local worker, stacks, capabilities, regions = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local _now = ARGV[5] -- part of the contract; nothing here depends on the time
local lock_seconds = ARGV[6]
local data_prefix, lock_prefix, concurrent_prefix = ARGV[7], ARGV[8], ARGV[9]
stacks, capabilities, regions = cjson.decode(stacks), cjson.decode(capabilities), cjson.decode(regions)

local function has(list, wanted)
  for _, item in ipairs(list) do
    if item == wanted then return true end
  end
  return false
end

local function shares(list, other)
  for _, item in ipairs(other) do
    if has(list, item) then return true end
  end
  return false
end

-- Stack and region: in mode any one in common, else the worker's first is listed.
local function placed(listed, own, any)
  if not listed or #listed == 0 then return true end
  if any then return shares(listed, own) end
  return has(listed, own[1])
end

local function capable(listed, any)
  if not listed or #listed == 0 then return true end
  if any then return shares(listed, capabilities) end
  for _, wanted in ipairs(listed) do
    if not has(capabilities, wanted) then return false end
  end
  return true
end

local function fits(target)
  if not target then return true end
  if target.server and target.server ~= '' then return target.server == worker end
  local any = (target.mode or 'any') == 'any'
  return placed(target.stack, stacks, any)
    and capable(target.capabilities, any)
    and placed(target.region, regions, any)
end

local function limited(job)
  local limit = job.rateLimit and job.rateLimit.maxConcurrent
  if not limit then return false end
  local running = redis.call('GET', concurrent_prefix .. job.type)
  return running and tonumber(running) >= limit
end

for _, id in ipairs(redis.call('LRANGE', waiting, 0, SCAN_MAX - 1)) do
  local lock = lock_prefix .. id
  if redis.call('SET', lock, worker, 'NX', 'EX', lock_seconds) then
    local text = redis.call('GET', data_prefix .. id)
    if not text then
      redis.call('LREM', waiting, 1, id)
      redis.call('DEL', lock)
    else
      local job = cjson.decode(text)
      if redis.call('SISMEMBER', paused, job.type) == 0 and not limited(job) and fits(job.target) then
        redis.call('LREM', waiting, 1, id)
        redis.call('SADD', active, id)
        redis.call('INCR', concurrent_prefix .. job.type)
        return text
      end
      redis.call('DEL', lock)
    end
  end
end
return nil
