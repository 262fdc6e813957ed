-- Ends a job: its result, its status, and how long both and its data stay. A definition that fires again is never over:
-- it goes back to `cron` with its last result beside it, and the answer is false. Keys to be deleted are added to `freed`
-- for the caller, or deleted here when there is none. `result_ttl` and `retention` are the script's own.
local keeps_results = not string.find(opts, 'n', 1, true)
local function close_job(id, status, result, progressed, is_cron, freed)
  local gone, n = freed or {}, freed and #freed or 0
  local status_key, result_key = ns .. 'jobs:status:' .. id, ns .. 'jobs:result:' .. id
  if keeps_results or status ~= 'completed' then
    redis.call('SET', result_key, result, 'EX', result_ttl)
  else
    -- An earlier attempt may have left one.
    n = n + 1
    gone[n] = result_key
  end
  local fires_again = is_cron and redis.call('ZSCORE', ns .. 'jobs:cron', id)
  if fires_again then
    redis.call('SET', status_key, 'cron')
  elseif status == 'dead' or retention == '-1' then
    redis.call('SET', status_key, status)
  elseif retention == '0' then
    gone[n + 1], gone[n + 2], gone[n + 3] = status_key, ns .. 'jobs:data:' .. id, ns .. 'jobs:progress:' .. id
    n = n + 3
  else
    redis.call('SET', status_key, status, 'EX', retention)
    redis.call('EXPIRE', ns .. 'jobs:data:' .. id, retention)
  end
  if progressed and (fires_again or retention ~= '0') then
    redis.call('EXPIRE', ns .. 'jobs:progress:' .. id, '86400')
  end
  if not freed and n > 0 then redis.call('DEL', unpack(gone)) end
  return not fires_again
end
