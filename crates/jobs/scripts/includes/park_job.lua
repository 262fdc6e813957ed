-- Parks a job until those in `unmet` have ended.
local function park_job(id, unmet)
  redis.call('SADD', ns .. 'x:parked', id)
  for _, dependency in ipairs(unmet) do
    redis.call('SADD', ns .. 'x:deps:' .. id, dependency)
    redis.call('SADD', ns .. 'x:children:' .. dependency, id)
  end
end
