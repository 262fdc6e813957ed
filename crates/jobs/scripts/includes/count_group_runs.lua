--- @include "read_job"

-- Counts the jobs that run already for a limit that is set on a group, or on each that has none of its own (`*`).
local function count_group_runs(name)
  local ids = redis.call('SMEMBERS', ns .. 'jobs:active')
  for from = 1, #ids, 100 do
    local keys = {}
    for at = from, math.min(from + 99, #ids) do keys[#keys + 1] = ns .. 'jobs:data:' .. ids[at] end
    for n, text in ipairs(redis.call('MGET', unpack(keys))) do
      local job = text and string.find(text, '"group"', 1, true) and read_job(text)
      local group = job and type(job.x) == 'table' and job.x.group
      local is_meant = type(group) == 'string'
        and (group == name or name == '*' and redis.call('HEXISTS', ns .. 'x:group_limits', group) == 0)
      if is_meant then
        redis.pcall('SADD', ns .. 'x:group_runs:' .. group, ids[from + n - 1])
        redis.call('EXPIRE', ns .. 'x:group_runs:' .. group, '86400')
      end
    end
  end
end
