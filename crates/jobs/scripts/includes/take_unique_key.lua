--- @include "append_event"

-- Takes a uniqueness key for a job, or gives the id that holds it. A holder that has ended holds nothing, but for its
-- window with `throttle`; one that waits is replaced with `replace` and `debounce`, and one that runs lets the next one in
-- with `queue_next` and `debounce`.
local function take_unique_key(digest, id, window, policy)
  local key = ns .. 'x:unique:' .. digest
  local holder = redis.call('GET', key)
  if holder and policy == 'throttle' then return holder end
  if holder then
    local status = redis.call('GET', ns .. 'jobs:status:' .. holder)
    local waits, runs = status == 'waiting' or status == 'delayed', status == 'active'
    if (policy == 'replace' or policy == 'debounce') and waits then
      -- Its place in the list is found empty by the next claim and dropped there.
      redis.call('ZREM', ns .. 'jobs:delayed', holder)
      redis.call('DEL', ns .. 'jobs:data:' .. holder, ns .. 'jobs:status:' .. holder, ns .. 'x:flow:' .. holder)
      append_event('removed', holder, '{"replacedBy":"' .. id .. '"}')
    elseif (waits or runs) and not ((policy == 'queue_next' or policy == 'debounce') and runs) then
      return holder
    end
  end
  redis.call('SET', key, id, 'PX', window)
end
