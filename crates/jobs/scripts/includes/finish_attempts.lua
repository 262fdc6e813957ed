--- @include "finish_attempt"

-- Ends the attempts that the arguments from 16 on tell of. Gives a word for each, or nothing when all were written; then
-- whether jobs may have come into the list.
local function finish_attempts(count)
  local locks, at, all_plain = {}, 16, not (marks.cancelled or marks.parked or marks.recovered)
  for i = 1, count do
    locks[i] = ns .. 'jobs:lock:' .. ARGV[at]
    if ARGV[at + 5] ~= '' or ARGV[at + 1] ~= 'completed' then all_plain = false end
    at = at + (ARGV[at + 5] == '' and 6 or 11)
  end
  if not all_plain then
    redis.call('ZCARD', ns .. 'jobs:delayed')
    redis.call('LLEN', ns .. 'jobs:deadletter')
  end
  local owners, words, done, freed = redis.call('MGET', unpack(locks)), nil, {}, {}
  at = 16
  for i = 1, count do
    local id, outcome, kind, result, body, flags = unpack(ARGV, at, at + 5)
    local word = 'lost'
    if owners[i] == me then word = finish_attempt(id, outcome, kind, result, body, flags, at + 6, freed) end
    if word == 'written' or word == 'cancelled' then
      done[#done + 1], freed[#freed + 1] = id, locks[i]
      running[kind] = (running[kind] or 0) - 1
    end
    if word ~= 'written' then
      words = words or {}
      words[i] = word
    end
    at = at + (flags == '' and 6 or 11)
  end
  if #done > 0 then
    redis.call('DEL', unpack(freed))
    redis.call('SREM', active, unpack(done))
    redis.call('HDEL', claimed_at, unpack(done))
  end
  if not words then return '', not all_plain end
  for i = 1, count do words[i] = words[i] or 'written' end
  return words, not all_plain
end
