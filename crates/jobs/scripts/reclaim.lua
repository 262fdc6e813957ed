-- reclaim: take jobs back that were claimed and whose lock ran out, in one stretch of `x:claimed`. Too many times, and the job is dead. Safe from several processes.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  result_ttl
-- ARGV 4  retention
-- ARGV 5  max_recoveries
-- ARGV 6  cursor
-- ARGV 7  pause
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:jobs:result:{jobId} {ns}:jobs:lock:{jobId}
-- BUILDS {ns}:jobs:progress:{jobId} {ns}:jobs:active {ns}:jobs:delayed {ns}:jobs:cron {ns}:jobs:deadletter
-- BUILDS {ns}:ratelimit:concurrent:{jobType} {ns}:events:stream
-- BUILDS {ns}:x:claimed {ns}:x:swept {ns}:x:recoveries {ns}:x:cancelled {ns}:x:wake
-- BUILDS {ns}:x:parked {ns}:x:deps:{jobId} {ns}:x:children:{jobId} {ns}:x:unique:{digest} {ns}:x:batch:{batchId}
-- BUILDS {ns}:x:cron_failed {ns}:x:index {ns}:x:flow:{jobId}
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES the cursor of the next stretch, 0 after the last; then id, type and what became of it (waiting, dead, cancelled), for each job taken back
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, result_ttl, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--- @include "recover_job"

-- Claimed jobs of this stretch without a lock: the store itself has ended their leases.
local function stretch(cursor)
  local part, lost = redis.call('HSCAN', ns .. 'x:claimed', cursor, 'COUNT', '500'), {}
  for at = 1, #part[2], 2 do
    local id = part[2][at]
    if redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 0 then lost[#lost + 1] = id end
  end
  return part[1], lost
end

local active, cursor, pause = ns .. 'jobs:active', ARGV[6], tonumber(ARGV[7])
redis.call('LLEN', KEYS[1])
redis.call('SCARD', active)
redis.call('LLEN', ns .. 'jobs:deadletter')
redis.call('HLEN', ns .. 'x:recoveries')
redis.call('SCARD', ns .. 'x:cancelled')
redis.call('XLEN', ns .. 'events:stream')
-- Many processes look after the same jobs: one look in so many milliseconds is enough for all of them.
if pause > 0 and cursor == '0' then
  local before = tonumber(redis.call('GET', ns .. 'x:swept') or '')
  if before and math.abs(tonumber(now) - before) < pause then return { '0' } end
  redis.call('SET', ns .. 'x:swept', now, 'EX', '60')
end
local next, lost = stretch(cursor)
local answer = { next }
for _, id in ipairs(lost) do
  redis.call('HDEL', ns .. 'x:claimed', id)
  if redis.call('SREM', active, id) == 1 then
    local n, kind, became = #answer, recover_job(id, tonumber(ARGV[5]))
    answer[n + 1], answer[n + 2], answer[n + 3] = id, kind, became
  end
end
return answer
