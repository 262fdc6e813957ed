-- Takes a parked job out, also where it would be told of an end.
local function unpark_job(id)
  redis.call('SREM', ns .. 'x:parked', id)
  local deps = redis.pcall('SMEMBERS', ns .. 'x:deps:' .. id)
  for _, dependency in ipairs(deps.err and {} or deps) do
    redis.pcall('SREM', ns .. 'x:children:' .. dependency, id)
  end
  redis.call('DEL', ns .. 'x:deps:' .. id)
end
