-- Writes what is claimed as active, all at once.
local function mark_claimed()
  local ids, states, times, claim = {}, {}, {}, now .. ' ' .. me
  for i = 1, #claimed_kinds do
    local id = claimed[2 * i - 1]
    ids[i] = id
    states[2 * i - 1], states[2 * i] = ns .. 'jobs:status:' .. id, 'active'
    times[2 * i - 1], times[2 * i] = id, claim
  end
  redis.call('MSET', unpack(states))
  redis.call('SADD', ns .. 'jobs:active', unpack(ids))
  redis.call('HSET', ns .. 'x:claimed', unpack(times))
  for i = 1, #ids do append_event('claimed', ids[i], types_seen[claimed_kinds[i]].body) end
end
