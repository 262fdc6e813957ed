
-- Ends attempts of one worker. Twelve arguments each: id, outcome, type, result, new text, old text, run at,
-- high, flags (c cron, p progress, l result too large), digest of the uniqueness key, batch, body of the event.
local FIELDS = 12

kit.finish = function(worker, from, count, more)
  local wrote, locks = {}, {}
  if count == 0 then return wrote end
  for i = 1, count do locks[i] = ns .. 'jobs:lock:' .. ARGV[from + (i - 1) * FIELDS] end
  local owners = redis.call('MGET', unpack(locks))
  local done, freed, ended = {}, {}, {}
  for i = 1, count do
    local at = from + (i - 1) * FIELDS
    local id, outcome, kind = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if owners[i] ~= worker.id then
      wrote[i] = 'lost'
    elseif ARGV[at + 4] ~= '' and redis.call('GET', ns .. 'jobs:data:' .. id) ~= ARGV[at + 5] then
      wrote[i] = 'changed'
    else
      wrote[i] = 'written'
      if worker.cancelled and redis.call('SREM', ns .. 'x:cancelled', id) == 1 and outcome ~= 'back' then
        outcome, wrote[i] = 'cancelled', 'cancelled'
      end
      done[#done + 1], freed[#freed + 1] = id, locks[i]
      more[kind] = (more[kind] or 0) - 1
      if outcome ~= 'completed' then kit.others() end
      kit[outcome](id, kind, at)
      if outcome ~= 'retry' and outcome ~= 'back' then
        ended[#ended + 1] = id
        local well = outcome == 'completed'
        local digest, batch = ARGV[at + 9], ARGV[at + 10]
        if worker.parked or digest ~= '' or batch ~= '' then kit.rarely() end
        if digest ~= '' then kit.free(id, digest) end
        if batch ~= '' then kit.count(batch, well) end
        if worker.parked then kit.release(id, well) end
      end
    end
  end
  if #done > 0 then
    redis.call('DEL', unpack(freed))
    redis.call('SREM', ns .. 'jobs:active', unpack(done))
    redis.call('ZREM', ns .. 'x:leases', unpack(done))
    redis.call('HDEL', ns .. 'x:claimed', unpack(done))
    if worker.recovered and #ended > 0 then redis.call('HDEL', ns .. 'x:recoveries', unpack(ended)) end
  end
  return wrote
end

-- A definition that fires again is never over: it goes back to `cron`, with its last result beside it.
kit.over = function(id, status, result, at)
  local flags = ARGV[at + 8]
  if string.find(flags, 'c', 1, true) and redis.call('ZSCORE', ns .. 'jobs:cron', id) then
    redis.call('SET', ns .. 'jobs:result:' .. id, result, 'EX', result_ttl)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'cron')
    if string.find(flags, 'p', 1, true) then redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, 86400) end
    return false
  end
  kit.close(id, status, result, string.find(flags, 'p', 1, true))
  return true
end

kit.completed = function(id, _, at)
  kit.over(id, 'completed', ARGV[at + 3], at)
  kit.tell('completed', id, ARGV[at + 11])
  if string.find(ARGV[at + 8], 'l', 1, true) then kit.tell('result_too_large', id, ARGV[at + 11]) end
end

-- Every other outcome than the usual one.
kit.others = function()
  if kit.back then return end
  kit.rarely()

  kit.failed = function(id, _, at)
    kit.over(id, 'failed', ARGV[at + 3], at)
    kit.tell('failed', id, ARGV[at + 11])
  end

  kit.cancelled = function(id, kind, at)
    kit.over(id, 'failed', kit.failure('JobCancelled', 'cancelled while it ran'), at)
    kit.tell('cancelled', id, kit.type_body(kind))
  end

  kit.dead = function(id, _, at)
    if kit.over(id, 'dead', ARGV[at + 3], at) then redis.call('LPUSH', ns .. 'jobs:deadletter', id) end
    kit.tell('dead', id, ARGV[at + 11])
  end

  kit.retry = function(id, kind, at)
    local run_at = ARGV[at + 6]
    if ARGV[at + 4] ~= '' then redis.call('SET', ns .. 'jobs:data:' .. id, ARGV[at + 4]) end
    redis.call('SET', ns .. 'jobs:result:' .. id, ARGV[at + 3], 'EX', result_ttl)
    if run_at == '0' then
      kit.push(id, ARGV[at + 7] == '1')
      redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
      kit.wake(kind)
    else
      redis.call('ZADD', ns .. 'jobs:delayed', run_at, id)
      redis.call('SET', ns .. 'jobs:status:' .. id, 'delayed')
    end
    kit.tell('retried', id, ARGV[at + 11])
  end

  kit.back = function(id, kind, at)
    redis.call('LPUSH', KEYS[1], id)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
    kit.wake(kind)
    kit.tell('requeued', id, ARGV[at + 11])
  end
end
