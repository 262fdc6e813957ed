-- finish_and_claim: the hot path of a worker. Ends attempts it owns and claims the next jobs, in one step.
-- KEYS 1   waiting  {ns}:jobs:waiting
-- ARGV 1   now
-- ARGV 2   opts
-- ARGV 3   result_ttl
-- ARGV 4   retention
-- ARGV 5   worker
-- ARGV 6   finishing
-- ARGV 7   claiming
-- ARGV 8   lock_ttl
-- ARGV 9   stack
-- ARGV 10  capabilities
-- ARGV 11  region
-- ARGV 12  types
-- ARGV 13  scan_limit
-- ARGV 14  head
-- ARGV 15  last
-- ARGV 16  index
-- ARGV 17.. outcomes
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:queues:paused {ns}:ratelimit:concurrent:{jobType} {ns}:ratelimit:minute:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:leases {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:slide:{jobType}
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- GIVES a word per outcome (written, cancelled, lost, changed); jobs as id and text; what was looked at; unreadable ids; what to remember
local kit = {}
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function main()
  local finishing, claiming, ttl = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local worker = { id = ARGV[5], stack = ARGV[9], can = ARGV[10], region = ARGV[11] }
  -- A key of another type would stop the step halfway: each is touched before anything is written.
  redis.call('LLEN', KEYS[1])
  redis.call('SCARD', ns .. 'jobs:active')
  redis.call('ZCARD', ns .. 'x:leases')
  redis.call('HLEN', ns .. 'x:claimed')
  redis.call('XLEN', ns .. 'events:stream')
  if finishing > 0 then
    redis.call('ZCARD', ns .. 'jobs:delayed')
    redis.call('LLEN', ns .. 'jobs:deadletter')
  end
  -- What most queues do not use is looked for once: pauses, cancellations, parked jobs, recoveries.
  if redis.call('EXISTS', ns .. 'queues:paused', ns .. 'x:cancelled', ns .. 'x:parked', ns .. 'x:recoveries') > 0 then
    worker.pauses = redis.call('EXISTS', ns .. 'queues:paused') == 1
    worker.cancelled = redis.call('EXISTS', ns .. 'x:cancelled') == 1
    worker.parked = redis.call('EXISTS', ns .. 'x:parked') == 1
    worker.recovered = redis.call('EXISTS', ns .. 'x:recoveries') == 1
  end
  -- How many more (or fewer) of each type run after this step.
  local more = {}
  local wrote = kit.finish(worker, 17, finishing, more)
  local jobs, scan, malformed, memory = kit.claim(worker, claiming, ttl, ARGV[12], tonumber(ARGV[13]), ARGV[14],
    ARGV[15], tonumber(ARGV[16]), more)
  for kind, by in pairs(more) do
    if by < 0 then
      kit.down(kind, -by)
    elseif by > 0 then
      local key = ns .. 'ratelimit:concurrent:' .. kind
      if type(redis.pcall('INCRBY', key, by)) ~= 'number' then redis.call('SET', key, by) end
    end
  end
  return { wrote, jobs, scan, malformed, memory }
end
