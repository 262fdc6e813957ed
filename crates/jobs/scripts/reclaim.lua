-- reclaim: take jobs back whose lease ran out and whose lock is gone. Too many times, and the job is dead. Safe from several processes.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  batch
-- ARGV 6  max_recoveries
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:leases {ns}:x:claimed {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- GIVES id, type and what became of it (waiting, dead, cancelled), for each job taken back
local kit = {}
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function main()
  kit.rarely()
  local active, leases = ns .. 'jobs:active', ns .. 'x:leases'
  redis.call('LLEN', KEYS[1])
  redis.call('SCARD', active)
  redis.call('LLEN', ns .. 'jobs:deadletter')
  redis.call('HLEN', ns .. 'x:recoveries')
  redis.call('HLEN', ns .. 'x:claimed')
  redis.call('SCARD', ns .. 'x:cancelled')
  redis.call('XLEN', ns .. 'events:stream')
  local due = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, ARGV[5])
  local told = {}
  for _, id in ipairs(due) do
    local left = redis.call('PTTL', ns .. 'jobs:lock:' .. id)
    if left > 0 then
      -- A client that knows no leases prolonged its lock.
      redis.call('ZADD', leases, string.format('%.0f', tonumber(now) + left), id)
    else
      redis.call('ZREM', leases, id)
      redis.call('HDEL', ns .. 'x:claimed', id)
      if redis.call('SREM', active, id) == 1 then kit.recover(id, told, tonumber(ARGV[6])) end
    end
  end
  return told
end
