-- room_create: a whole room or nothing; a code that is in use stays as it is. People of an earlier room bring their seats.
-- KEYS 1   meta     room:{code}:meta
-- KEYS 2   senders  room:{code}:senders
-- KEYS 3   players  room:{code}:players
-- KEYS 4   scores   room:{code}:scores
-- KEYS 5   game     room:{code}:game
-- KEYS 6   claims   room:{code}:claims
-- KEYS 7   rules    wk:rooms:{code}:rules
-- KEYS 8.. rounds   *
-- ARGV 1   life_s
-- ARGV 2   meta_text
-- ARGV 3   senders_text
-- ARGV 4   players_text
-- ARGV 5   game_text
-- ARGV 6   rules_text
-- ARGV 7   rounds
-- ARGV 8.. texts
-- GIVES created | exists
local meta, senders, players, scores, game, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local rules, life, rounds = KEYS[7], ARGV[1], tonumber(ARGV[7])
if redis.call('EXISTS', meta) == 1 then return 'exists' end
-- A leftover of another type under this code must not stop the creation halfway.
redis.call('DEL', claims, scores, rules)
redis.call('SET', meta, ARGV[2], 'EX', life)
redis.call('SET', senders, ARGV[3], 'EX', life)
redis.call('SET', players, ARGV[4], 'EX', life)
redis.call('SET', game, ARGV[5], 'EX', life)
if ARGV[6] ~= '' then redis.call('SET', rules, ARGV[6], 'EX', life) end
for n = 1, rounds do
  redis.call('SET', KEYS[7 + n], ARGV[7 + n], 'EX', life)
end
-- The texts of the rounds, then how many players and their ids, how many claims and their pairs, then the event.
local at = 8 + rounds
local count = tonumber(ARGV[at])
for n = 1, count do
  redis.call('HSET', scores, ARGV[at + n], '0')
end
redis.call('EXPIRE', scores, life)
at = at + count + 1
local seats = tonumber(ARGV[at])
for n = 1, seats do
  redis.call('HSET', claims, ARGV[at + 2 * n - 1], ARGV[at + 2 * n])
end
if seats > 0 then redis.call('EXPIRE', claims, life) end
at = at + 2 * seats
--- @include "append_to"
local events = KEYS[8 + rounds]
if events then
  append_to(events, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return 'created'
