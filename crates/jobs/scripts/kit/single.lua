
-- One attempt that ended plainly, at most, and one plain job at the head: what a worker with one slot asks for. All
-- is decided before the first write; nothing is given, and nothing written, where it is not that simple.
kit.single = function(finishing)
  local id, kind = ARGV[17], ARGV[19]
  if finishing and redis.pcall('GET', ns .. 'jobs:lock:' .. id) ~= me then return end
  local head, next, text = redis.call('LINDEX', waiting, '0'), nil, nil
  if head then
    local types = ARGV[12]
    text = redis.pcall('GET', ns .. 'jobs:data:' .. head)
    next = type(text) == 'string' and plain(text)
    if not next then return end
    if types ~= '' and not string.find(types, '\n' .. next .. '\n', 1, true) then return end
    if not redis.call('SET', ns .. 'jobs:lock:' .. head, me, 'NX', 'EX', ARGV[9]) then return end
  end
  if finishing then
    kit.close(id, 'completed', ARGV[20])
    kit.tell('completed', id, ARGV[21])
    redis.call('DEL', ns .. 'jobs:lock:' .. id)
    redis.call('SREM', ns .. 'jobs:active', id)
    redis.call('ZREM', ns .. 'x:leases', id)
    redis.call('HDEL', ns .. 'x:claimed', id)
  end
  if head then
    redis.call('LPOP', waiting)
    redis.call('SET', ns .. 'jobs:status:' .. head, 'active')
    redis.call('SADD', ns .. 'jobs:active', head)
    redis.call('ZADD', ns .. 'x:leases', ARGV[10], head)
    redis.call('HSET', ns .. 'x:claimed', head, now .. ' ' .. me)
    kit.tell('claimed', head, '{"type":"' .. next .. '","worker":"' .. me .. '"}')
  end
  if not (finishing and head and kind == next) then
    if finishing then run(kind, -1) end
    if head then run(next, 1) end
  end
  return { '', '', head or nil, text }
end
