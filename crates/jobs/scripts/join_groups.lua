-- join_groups: enter jobs that were put into the list into the line of their groups. Claims enter what they meet, too.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2.. jobs
-- BUILDS {ns}:x:groups {ns}:x:group:{group}
-- GIVES how many groups are new in the line
local ns, now = string.sub(KEYS[1], 1, -13), ARGV[1]

--- @include "group_line"

local before = redis.call('ZCARD', groups)
-- Two arguments each: id, group.
for at = 2, #ARGV, 2 do enter(ARGV[at], ARGV[at + 1]) end
return redis.call('ZCARD', groups) - before
