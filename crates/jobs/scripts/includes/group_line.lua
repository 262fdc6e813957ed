-- The line of groups. `x:groups` has the groups that have jobs in the list, in the order of their turns; `x:group:{group}`
-- has the ids of such a group. Both are an index of `waiting`, which stays the truth: a job that is met in the list is
-- entered, one that is not there is dropped.
local groups = ns .. 'x:groups'

-- Puts a group to the end of the line.
local function go_last(group)
  local last = redis.call('ZREVRANGE', groups, 0, 0, 'WITHSCORES')
  redis.call('ZADD', groups, string.format('%.0f', (tonumber(last[2]) or 0) + 1), group)
end

-- Enters a job behind all others of its group. Whether the job or its group is new there.
local function enter(id, group)
  local line = ns .. 'x:group:' .. group
  local last = redis.call('ZREVRANGE', line, 0, 0, 'WITHSCORES')
  local score = math.max(tonumber(now), (tonumber(last[2]) or 0) + 0.001)
  local is_new = redis.call('ZADD', line, 'NX', string.format('%.3f', score), id) == 1
  if redis.call('ZSCORE', groups, group) then return is_new end
  go_last(group)
  return true
end
