-- Reads every key that a job may be in. A key of another type ends the step here, before anything is written.
local function check_types()
  redis.call('LLEN', KEYS[1])
  redis.call('SCARD', ns .. 'jobs:active')
  redis.call('ZCARD', ns .. 'jobs:delayed')
  redis.call('ZCARD', ns .. 'jobs:cron')
  redis.call('LLEN', ns .. 'jobs:deadletter')
  redis.call('SCARD', ns .. 'x:parked')
  redis.call('SCARD', ns .. 'x:cancelled')
  redis.call('HLEN', ns .. 'x:recoveries')
  redis.call('HLEN', ns .. 'x:cron_failed')
  redis.call('XLEN', ns .. 'events:stream')
end
