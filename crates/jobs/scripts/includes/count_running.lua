-- Counts `by` more running jobs of a type, or fewer. Never below zero, whatever a foreign program left there.
local function count_running(kind, by)
  local key = ns .. 'ratelimit:concurrent:' .. kind
  local runs = redis.pcall('INCRBY', key, by)
  if type(runs) ~= 'number' or runs < 0 then redis.call('SET', key, math.max(by, 0)) end
end
