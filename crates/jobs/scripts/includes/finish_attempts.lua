--- @include "finish_attempt"

-- Ends the attempts that the arguments from 16 on tell of. Gives a word for each, or nothing when all were written; then
-- whether jobs may have come into the list. Adds to `running` how many fewer of each type run.
local function finish_attempts(count, running)
  local locks, starts, at, all_plain = {}, {}, 16, not marks.any
  for i = 1, count do
    locks[i], starts[i] = ns .. 'jobs:lock:' .. ARGV[at], at
    if ARGV[at + 5] ~= '' or ARGV[at + 1] ~= 'completed' then all_plain = false end
    at = at + (ARGV[at + 5] == '' and 6 or 11)
  end
  if not all_plain then
    redis.call('ZCARD', ns .. 'jobs:delayed')
    redis.call('LLEN', ns .. 'jobs:deadletter')
  end
  local owners = redis.call('MGET', unpack(locks))
  local words, all_written, done, freed = {}, true, {}, {}
  for i = 1, count do
    local start, word = starts[i], 'lost'
    local id, kind = ARGV[start], ARGV[start + 2]
    if owners[i] == me then
      word = finish_attempt(id, ARGV[start + 1], kind, ARGV[start + 3], ARGV[start + 4], ARGV[start + 5], start + 6, freed)
    end
    words[i] = word
    if word ~= 'written' then all_written = false end
    if word == 'written' or word == 'cancelled' then
      done[#done + 1], freed[#freed + 1] = id, locks[i]
      running[kind] = (running[kind] or 0) - 1
    end
  end
  if #done > 0 then
    redis.call('DEL', unpack(freed))
    redis.call('SREM', ns .. 'jobs:active', unpack(done))
    redis.call('HDEL', ns .. 'x:claimed', unpack(done))
  end
  return all_written and '' or words, not all_plain
end
