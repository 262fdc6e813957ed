-- limit: set or take away the limit on a type or a group.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  opts
-- ARGV 3  of_group
-- ARGV 4  name
-- ARGV 5  limit
-- BUILDS {ns}:x:limits {ns}:x:group_limits {ns}:events:stream {ns}:x:wake
-- BUILDS {ns}:jobs:active {ns}:jobs:data:{jobId} {ns}:x:group_runs:{group}
-- GIVES changed | unchanged
local ns = string.sub(KEYS[1], 1, -13)
local now, opts, of_group, name, limit = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4], ARGV[5]

--- @include "append_event"
--- @include "wake_workers"

local limits = of_group and ns .. 'x:group_limits' or ns .. 'x:limits'
redis.call('XLEN', ns .. 'events:stream')
redis.call('SCARD', ns .. 'jobs:active')
if (redis.call('HGET', limits, name) or '') == limit then return 'unchanged' end
if limit == '' then redis.call('HDEL', limits, name) else redis.call('HSET', limits, name, limit) end
if of_group and string.find(limit, '"concurrency"', 1, true) then
  --- @include "count_group_runs"
  count_group_runs(name)
end
append_event(of_group and 'group_limited' or 'limited', name, limit == '' and '{}' or limit)
-- A limit that is gone or larger may let jobs go on.
wake_workers(of_group and '*' or name)
return 'changed'
