
-- The end of an attempt that needs more than a result. Twelve arguments: id, outcome, type, result, body of the
-- event, new text, old text, run at, high, flags (c cron, p progress, l result too large), digest of the
-- uniqueness key, batch. `completed` has the first five and means `done` without the others.
kit.finish = function(id, outcome, kind, at)
  kit.rarely()
  local plain, word = outcome == 'completed', 'written'
  if not plain and ARGV[at + 5] ~= '' and redis.call('GET', ns .. 'jobs:data:' .. id) ~= ARGV[at + 6] then
    return 'changed'
  end
  local flags, digest, batch = '', '', ''
  if not plain then flags, digest, batch = ARGV[at + 9], ARGV[at + 10], ARGV[at + 11] end
  local cancelled = special and special.cancelled and redis.call('SREM', ns .. 'x:cancelled', id) == 1
  if cancelled then outcome, word = 'cancelled', 'cancelled' end
  kit[outcome](id, kind, at, flags)
  if outcome == 'retry' or outcome == 'back' then return word end
  local well = outcome == 'completed' or outcome == 'done'
  if special and special.recovered and redis.call('HDEL', ns .. 'x:recoveries', id) == 1 then
    -- A worker that died may have left some.
    redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400')
  end
  if digest ~= '' then kit.free(id, digest) end
  if batch ~= '' then kit.count(batch, well) end
  if special and special.parked then kit.release(id, well) end
  return word
end

-- A definition that fires again is never over: it goes back to `cron`, with its last result beside it.
kit.over = function(id, status, result, flags)
  local progress = string.find(flags, 'p', 1, true)
  if string.find(flags, 'c', 1, true) and redis.call('ZSCORE', ns .. 'jobs:cron', id) then
    kit.result(id, status, result)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'cron')
    if progress then redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400') end
    return false
  end
  kit.close(id, status, result, progress)
  return true
end

kit.done = function(id, _, at, flags)
  kit.over(id, 'completed', ARGV[at + 3], flags)
  kit.tell('completed', id, ARGV[at + 4])
  if string.find(flags, 'l', 1, true) then kit.tell('result_too_large', id, ARGV[at + 4]) end
end
kit.completed = kit.done

kit.failed = function(id, _, at, flags)
  kit.over(id, 'failed', ARGV[at + 3], flags)
  kit.tell('failed', id, ARGV[at + 4])
end

kit.cancelled = function(id, kind, _, flags)
  kit.over(id, 'failed', kit.failure('JobCancelled', 'cancelled while it ran'), flags)
  kit.tell('cancelled', id, kit.type_body(kind))
end

kit.dead = function(id, _, at, flags)
  if kit.over(id, 'dead', ARGV[at + 3], flags) then redis.call('LPUSH', ns .. 'jobs:deadletter', id) end
  kit.tell('dead', id, ARGV[at + 4])
end

-- How far an attempt came ends with it, unless the next one can go on from there.
local function hush(id, flags)
  if not string.find(flags, 'p', 1, true) then return end
  local said = redis.pcall('GET', ns .. 'jobs:progress:' .. id)
  if type(said) == 'string' and not string.find(said, '"data":', 1, true) then
    redis.call('DEL', ns .. 'jobs:progress:' .. id)
  end
end

kit.retry = function(id, kind, at, flags)
  hush(id, flags)
  local run_at = ARGV[at + 7]
  if ARGV[at + 5] ~= '' then redis.call('SET', ns .. 'jobs:data:' .. id, ARGV[at + 5]) end
  redis.call('SET', ns .. 'jobs:result:' .. id, ARGV[at + 3], 'EX', result_ttl)
  if run_at == '0' then
    kit.push(id, ARGV[at + 8] == '1')
    redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
    kit.wake(kind)
  else
    redis.call('ZADD', ns .. 'jobs:delayed', run_at, id)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'delayed')
  end
  kit.tell('retried', id, ARGV[at + 4])
end

kit.back = function(id, kind, at, flags)
  hush(id, flags)
  redis.call('LPUSH', KEYS[1], id)
  redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
  kit.wake(kind)
  kit.tell('requeued', id, ARGV[at + 4])
end
