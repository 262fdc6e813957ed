--- @include "index_jobs"

-- Makes a firing of a definition that failed for good a dead letter of its own; the definition fires on.
local function dead_firing(letter, text, result)
  if redis.call('EXISTS', ns .. 'jobs:data:' .. letter) == 1 then return end
  redis.call('MSET', ns .. 'jobs:data:' .. letter, text, ns .. 'jobs:status:' .. letter, 'dead')
  redis.call('SET', ns .. 'jobs:result:' .. letter, result, 'EX', result_ttl)
  redis.call('LPUSH', ns .. 'jobs:deadletter', letter)
  index_jobs({ letter })
end
