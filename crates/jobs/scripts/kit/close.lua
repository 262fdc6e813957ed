
-- Result, status and what is left of an ended job. `result_ttl` and `retention` are the script's own.
kit.close = function(id, status, result, progress)
  redis.call('SET', ns .. 'jobs:result:' .. id, result, 'EX', result_ttl)
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
