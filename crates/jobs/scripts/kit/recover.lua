
-- A job whose worker is gone, already out of `active`: back into the queue, or dead after too many times, or
-- ended when its cancellation was asked for. `told` gets id, type and what became of it.
kit.recover = function(id, told, most)
  local text = redis.call('GET', ns .. 'jobs:data:' .. id)
  local job = text and kit.read(text)
  local kind, became = job and job.type or '', 'waiting'
  if job then kit.down(kind, 1) end
  local is_cron = redis.call('ZSCORE', ns .. 'jobs:cron', id)
  if redis.call('SREM', ns .. 'x:cancelled', id) == 1 then
    became = 'cancelled'
    kit.stop(id, is_cron, 'failed', kit.failure('JobCancelled', 'cancelled while it ran'))
    kit.tell('cancelled', id, kit.type_body(kind))
  elseif not text then
    became = 'gone'
    redis.call('DEL', ns .. 'jobs:status:' .. id)
  elseif redis.call('HINCRBY', ns .. 'x:recoveries', id, 1) > most then
    became = 'dead'
    kit.stop(id, is_cron, 'dead', kit.failure('WorkerLost', 'its workers died too many times'))
    kit.tell('dead', id, '{"type":' .. cjson.encode(kind) .. ',"error":"WorkerLost"}')
  else
    kit.push(id, job and kit.high(job))
    redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
    kit.tell('recovered', id, kit.type_body(kind))
    kit.wake(kind)
  end
  if became == 'dead' or became == 'cancelled' then
    redis.call('HDEL', ns .. 'x:recoveries', id)
    if not is_cron then kit.ended(id, text, false) end
  end
  told[#told + 1], told[#told + 2], told[#told + 3] = id, kind, became
end

-- The end of a job by force; a definition that fires again goes back to `cron`.
kit.stop = function(id, is_cron, status, result)
  if is_cron then
    redis.call('SET', ns .. 'jobs:result:' .. id, result, 'EX', result_ttl)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'cron')
  else
    kit.close(id, status, result, true)
    if status == 'dead' then redis.call('LPUSH', ns .. 'jobs:deadletter', id) end
  end
end
