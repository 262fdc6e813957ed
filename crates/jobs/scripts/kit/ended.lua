
-- What follows from the end of a job: its uniqueness key is free, its batch counts it, those who wait for it
-- go on or fail with it. `result_ttl` and `retention` are the script's own.

-- Most jobs need none of the rest: it is made when it is asked for.
kit.rarely = function()
  if kit.ended then return end

  kit.failure = function(name, message)
    return '{"success":false,"error":{"message":' .. cjson.encode(message) .. ',"name":"' .. name ..
      '"},"completedAt":' .. now .. ',"processingTime":0}'
  end

  kit.count = function(batch, well)
    local key = ns .. 'x:batch:' .. batch
    if redis.call('TYPE', key).ok ~= 'hash' then return end
    redis.call('HINCRBY', key, well and 'completed' or 'failed', 1)
    if redis.call('HINCRBY', key, 'pending', -1) > 0 then return end
    if redis.call('HSETNX', key, 'endedAt', now) == 0 then return end
    redis.call('EXPIRE', key, 86400)
    local after = redis.call('HMGET', key, 'callback', 'callbackId', 'callbackType', 'callbackHigh')
    local text, id, kind = after[1], after[2], after[3]
    if not text or not id or redis.call('EXISTS', ns .. 'jobs:data:' .. id) == 1 then return end
    redis.call('SET', ns .. 'jobs:data:' .. id, text)
    redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
    kit.push(id, after[4] == '1')
    kit.tell('dispatched', id, kit.type_body(kind))
    kit.wake(kind)
  end

  -- A job that waited for others and need not any more.
  kit.unpark = function(id, job)
    redis.call('SREM', ns .. 'x:parked', id)
    redis.call('DEL', ns .. 'x:deps:' .. id)
    local schedule, at = type(job.schedule) == 'table' and job.schedule or {}, nil
    if type(schedule.runAt) == 'number' then at = schedule.runAt
    elseif type(schedule.delay) == 'number' and schedule.delay > 0 then at = tonumber(now) + schedule.delay end
    if at and at > tonumber(now) then
      redis.call('ZADD', ns .. 'jobs:delayed', string.format('%.0f', at), id)
      redis.call('SET', ns .. 'jobs:status:' .. id, 'delayed')
    else
      kit.push(id, kit.high(job))
      redis.call('SET', ns .. 'jobs:status:' .. id, 'waiting')
      kit.wake(job.type)
    end
    kit.tell('promoted', id, kit.type_body(job.type))
  end

  -- Those who wait for `id`, and those who wait for them when they fail with it.
  kit.release = function(id, well)
    local todo = { { id, well } }
    while #todo > 0 do
      local parent, fine = unpack(table.remove(todo))
      local children = ns .. 'x:children:' .. parent
      local ids = redis.pcall('SMEMBERS', children)
      for _, child in ipairs(ids.err and {} or ids) do
        local deps = ns .. 'x:deps:' .. child
        redis.pcall('SREM', deps, parent)
        if redis.call('SISMEMBER', ns .. 'x:parked', child) == 1 then
          local text = redis.call('GET', ns .. 'jobs:data:' .. child)
          local job = text and kit.read(text)
          local x = job and type(job.x) == 'table' and job.x or {}
          if not job then
            redis.call('SREM', ns .. 'x:parked', child)
            redis.call('DEL', deps)
          elseif not fine and x.onDependencyFailed ~= 'ignore' then
            redis.call('SREM', ns .. 'x:parked', child)
            redis.call('DEL', deps)
            kit.close(child, 'failed', kit.failure('DependencyFailed', 'job ' .. parent .. ' did not complete'))
            kit.tell('failed', child, '{"type":' .. cjson.encode(job.type) .. ',"error":"DependencyFailed"}')
            kit.let_go(child, x, false)
            todo[#todo + 1] = { child, false }
          elseif redis.call('EXISTS', deps) == 0 then
            kit.unpark(child, job)
          end
        end
      end
      redis.call('DEL', children)
    end
  end

  -- Uniqueness key and batch, from the job's own `x`.
  kit.let_go = function(id, x, well)
    if type(x.uniqueKey) == 'string' then kit.free(id, redis.sha1hex(x.uniqueKey)) end
    if type(x.batch) == 'string' then kit.count(x.batch, well) end
  end

  kit.free = function(id, digest)
    local key = ns .. 'x:unique:' .. digest
    if redis.pcall('GET', key) == id then redis.call('DEL', key) end
  end

  -- The whole of it, for a job of which only the text is known.
  kit.ended = function(id, text, well)
    local job = text and kit.read(text)
    if job and type(job.x) == 'table' then kit.let_go(id, job.x, well) end
    if redis.call('EXISTS', ns .. 'x:parked') == 1 then kit.release(id, well) end
  end
end
