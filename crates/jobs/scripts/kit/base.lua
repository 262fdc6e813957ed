
-- What every script shares. `ns`, `now` and `opts` are the script's own.

-- A stored text as a table, if anybody could run it.
kit.read = function(text)
  local fine, job = pcall(cjson.decode, text)
  if fine and type(job) == 'table' and type(job.type) == 'string' and job.type ~= '' then return job end
end

kit.high = function(job)
  return type(job.priority) == 'number' and job.priority >= 7
end

-- Into `waiting` by the priority rule. Fair: behind the high ones that are there, as far as 100 heads show.
kit.push = function(id, high)
  local waiting = KEYS[1]
  if not high then return redis.call('RPUSH', waiting, id) end
  if not string.find(opts, 'f', 1, true) then return redis.call('LPUSH', waiting, id) end
  local heads, keys = redis.call('LRANGE', waiting, 0, 99), {}
  if #heads == 0 then return redis.call('RPUSH', waiting, id) end
  for i, head in ipairs(heads) do keys[i] = ns .. 'jobs:data:' .. head end
  local texts = redis.call('MGET', unpack(keys))
  for i, head in ipairs(heads) do
    local job = texts[i] and kit.read(texts[i])
    if job and not kit.high(job) then return redis.call('LINSERT', waiting, 'BEFORE', head, id) end
  end
  return redis.call('LINSERT', waiting, 'AFTER', heads[#heads], id)
end

kit.wake = function(kind)
  redis.call('PUBLISH', ns .. 'x:wake', kind)
end

-- One type runs `by` fewer; never below zero, whatever a foreign program left there.
kit.down = function(kind, by)
  local key = ns .. 'ratelimit:concurrent:' .. kind
  local left = redis.pcall('DECRBY', key, by)
  if type(left) ~= 'number' or left < 0 then redis.call('SET', key, 0) end
end

kit.type_body = function(kind)
  return '{"type":' .. cjson.encode(kind) .. '}'
end
