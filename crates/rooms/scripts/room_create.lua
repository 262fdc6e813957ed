-- room_create: a whole room or nothing; a code that is in use stays as it is.
-- KEYS 1   meta     room:{code}:meta
-- KEYS 2   senders  room:{code}:senders
-- KEYS 3   players  room:{code}:players
-- KEYS 4   scores   room:{code}:scores
-- KEYS 5   game     room:{code}:game
-- KEYS 6   claims   room:{code}:claims
-- KEYS 7.. rounds   *
-- ARGV 1   life_s
-- ARGV 2   meta_text
-- ARGV 3   senders_text
-- ARGV 4   players_text
-- ARGV 5   game_text
-- ARGV 6   rounds
-- ARGV 7.. texts
-- GIVES created | exists
local meta, senders, players, scores, game, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local life, rounds = ARGV[1], tonumber(ARGV[6])
if redis.call('EXISTS', meta) == 1 then return 'exists' end
-- A leftover of another type under this code must not stop the creation halfway.
redis.call('DEL', claims, scores)
redis.call('SET', meta, ARGV[2], 'EX', life)
redis.call('SET', senders, ARGV[3], 'EX', life)
redis.call('SET', players, ARGV[4], 'EX', life)
redis.call('SET', game, ARGV[5], 'EX', life)
for n = 1, rounds do
  redis.call('SET', KEYS[6 + n], ARGV[6 + n], 'EX', life)
end
-- The texts of the rounds, then how many players, then their ids, then the event.
local count = tonumber(ARGV[7 + rounds])
for n = 1, count do
  redis.call('HSET', scores, ARGV[7 + rounds + n], '0')
end
redis.call('EXPIRE', scores, life)
--- @include "append_to"
local events = KEYS[7 + rounds]
if events then
  local at = 7 + rounds + count
  append_to(events, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return 'created'
