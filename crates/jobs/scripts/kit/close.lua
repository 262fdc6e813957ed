
-- What came of an ended job. Where results are not kept, a completed one has none, nor that of an earlier attempt.
kit.result = function(id, status, result)
  local key = ns .. 'jobs:result:' .. id
  if status == 'completed' and string.find(opts, 'n', 1, true) then return redis.call('DEL', key) end
  redis.call('SET', key, result, 'EX', result_ttl)
end

-- Result, status and what is left of an ended job. `result_ttl` and `retention` are the script's own.
kit.close = function(id, status, result, progress)
  kit.result(id, status, result)
  if status == 'dead' or retention == '-1' then
    redis.call('SET', ns .. 'jobs:status:' .. id, status)
  elseif retention == '0' then
    redis.call('DEL', ns .. 'jobs:status:' .. id, ns .. 'jobs:data:' .. id, ns .. 'jobs:progress:' .. id)
  else
    redis.call('SET', ns .. 'jobs:status:' .. id, status, 'EX', retention)
    redis.call('EXPIRE', ns .. 'jobs:data:' .. id, retention)
  end
  if progress and retention ~= '0' then redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400') end
end
