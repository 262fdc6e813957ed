-- vote: takes a vote and, when every expected player has one, closes the item: points, status and results in
-- the same step, so it happens once. Without a player it only closes: by force, or what a dead writer left.
-- KEYS 1   meta      room:{code}:meta
-- KEYS 2   game      room:{code}:game
-- KEYS 3   claims    room:{code}:claims
-- KEYS 4   votes     room:{code}:votes:{round_id}:{item_id}
-- KEYS 5   round     room:{code}:round:{round_id}
-- KEYS 6   scores    room:{code}:scores
-- KEYS 7   delta     room:{code}:round_delta:{round_id}
-- KEYS 8   deadline  room:{code}:vote_deadline
-- KEYS 9.. events    *
-- ARGV 1   expires_at
-- ARGV 2   open
-- ARGV 3   closed
-- ARGV 4   item
-- ARGV 5   player
-- ARGV 6   device
-- ARGV 7   vote
-- ARGV 8   force
-- ARGV 9   channel
-- ARGV 10  voted
-- ARGV 11  results_head
-- ARGV 12  results_tail
-- ARGV 13  at
-- ARGV 14  code
-- ARGV 15  body
-- GIVES a word of gone, retry, not_claimed, not_expected_voter, accepted, closed, waiting; first vote or not; votes; expected
local meta, game, claims, votes, round = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local scores, delta, deadline = KEYS[6], KEYS[7], KEYS[8]
local open, player, device, vote = ARGV[2], ARGV[5], ARGV[6], ARGV[7]

local life = redis.call('PTTL', meta)
if life == -2 then return { 'gone' } end
if redis.call('GET', game) ~= open then return { 'retry' } end
local expected = cjson.decode(open).vote.expected_player_ids
local found, missing, mine = redis.call('HMGET', votes, unpack(expected)), 0, nil
if player ~= '' then
  if redis.call('HGET', claims, player) ~= device then return { 'not_claimed' } end
  for n, known in ipairs(expected) do
    if known == player then mine = n end
  end
  if not mine then return { 'not_expected_voter' } end
end
local first = mine and not found[mine]
if mine then found[mine] = vote end
for n = 1, #expected do
  if not found[n] then missing = missing + 1 end
end
local closing = missing == 0 or ARGV[8] == 'force'
if not mine and not closing then return { 'waiting' } end

-- Everything that could fail is looked at before the first write.
local truth = {}
if closing then
  for _, one in ipairs(cjson.decode(redis.call('GET', round)).items) do
    if one.item_id == ARGV[4] then
      for _, sender in ipairs(one.true_sender_ids) do truth[sender] = true end
    end
  end
  for _, known in ipairs(expected) do
    local total, won = redis.call('HGET', scores, known), redis.call('HGET', delta, known)
    if not string.match(total or '0', '^-?%d+$') or not string.match(won or '0', '^-?%d+$') then
      return redis.error_reply('ERR the points of ' .. known .. ' are no whole number, nothing was written')
    end
  end
end
if life == -1 then
  redis.call('PEXPIREAT', meta, ARGV[1])
  life = redis.call('PTTL', meta)
  if life < 0 then return { 'gone' } end
end

local told = {}
if mine then
  redis.call('HSET', votes, player, vote)
  if first then told[1] = ARGV[10] end
end
if closing then
  local results = {}
  for n, known in ipairs(expected) do
    local fine, read = pcall(cjson.decode, found[n] or '')
    local picked = fine and type(read) == 'table' and type(read.selections) == 'table' and read.selections or {}
    local all, right, wrong, seen = {}, {}, {}, {}
    for _, sender in ipairs(picked) do
      if type(sender) == 'string' and not seen[sender] then
        seen[sender] = true
        local text = cjson.encode(sender)
        all[#all + 1] = text
        local side = truth[sender] and right or wrong
        side[#side + 1] = text
      end
    end
    local total = redis.call('HINCRBY', scores, known, #right)
    redis.call('HINCRBY', delta, known, #right)
    results[n] = '{"player_id":' .. cjson.encode(known) .. ',"selections":[' .. table.concat(all, ',')
      .. '],"correct":[' .. table.concat(right, ',') .. '],"incorrect":[' .. table.concat(wrong, ',')
      .. '],"points_gained":' .. #right .. ',"score_total":' .. string.format('%.0f', total) .. '}'
  end
  if redis.call('PTTL', scores) == -1 then redis.call('PEXPIRE', scores, life) end
  if redis.call('PTTL', delta) == -1 then redis.call('PEXPIRE', delta, life) end
  redis.call('SET', game, ARGV[3], 'KEEPTTL')
  redis.call('DEL', deadline)
  told[#told + 1] = ARGV[11] .. table.concat(results, ',') .. ARGV[12]
end
if redis.call('PTTL', votes) == -1 then redis.call('PEXPIRE', votes, life) end
if #told > 0 then redis.call('PUBLISH', ARGV[9], table.concat(told, '\n')) end

local count, closed = #expected - missing, closing and 'true' or 'false'
if KEYS[9] then
  --- @include "append_to"
  append_to(KEYS[9], mine and 'SUBMIT_VOTE' or 'VOTE_RESULTS', ARGV[13], ARGV[14],
    ARGV[15] .. ',"votes":' .. count .. ',"expected":' .. #expected .. ',"closed":' .. closed .. '}')
end
return { closing and 'closed' or 'accepted', first and 1 or 0, count, #expected }
