--- @include "read_state"

-- Puts a job to the end of its sequence. Gives the one before it when that has not ended.
local function join_sequence(id, job)
  local sequence = type(job.x) == 'table' and job.x.sequence
  if type(sequence) ~= 'string' or sequence == '' then return end
  local last = redis.call('HGET', ns .. 'x:sequences', sequence)
  local status = last and last ~= id and redis.call('GET', ns .. 'jobs:status:' .. last)
  redis.call('HSET', ns .. 'x:sequences', sequence, id)
  if status and not is_over(status) then return last end
end
