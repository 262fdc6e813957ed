--- @include "follows"
--- @include "is_flow"

-- Keeps how a child ended for the parent in its flow, longer than the child's own keys may live: the status, a space, the result.
local function note_child(parent, job, child, status, result)
  if not is_flow(job) or follows(job, child) then return end
  local key, value = ns .. 'x:flow:' .. parent, status .. ' ' .. (result or '')
  -- How a child ended stays known when it is removed later.
  if status == 'gone' then redis.pcall('HSETNX', key, child, value) else redis.pcall('HSET', key, child, value) end
end
