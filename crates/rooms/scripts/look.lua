-- look: what a decision needs of one room, all of one moment.
-- KEYS 1 meta      room:{code}:meta
-- KEYS 2 senders   room:{code}:senders
-- KEYS 3 players   room:{code}:players
-- KEYS 4 claims    room:{code}:claims
-- KEYS 5 scores    room:{code}:scores
-- KEYS 6 game      room:{code}:game
-- KEYS 7 deadline  room:{code}:vote_deadline
-- KEYS 8 online    wk:rooms:{code}:online
-- KEYS 9 last      wk:rooms:{code}:last
-- KEYS 10 rules    wk:rooms:{code}:rules
-- KEYS 11 next     wk:rooms:{code}:next
-- ARGV 1 parts
-- ARGV 2 now
-- ARGV 3 prefix
-- BUILDS room:{code}:round:{round_id}
-- BUILDS room:{code}:votes:{round_id}:{item_id}
-- BUILDS room:{code}:round_delta:{round_id}
-- GIVES remaining life, then meta, game and the parts asked for, in the order of the code below
local meta, senders, players, claims, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local game, deadline, online, ended, rules, moved = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local parts, now, prefix = ARGV[1], ARGV[2], ARGV[3]

local life = redis.call('PTTL', meta)
if life == -2 then return { life } end
local function wants(part) return string.find(parts, part, 1, true) ~= nil end
local function id(value)
  return type(value) == 'string' and string.match(value, '^[%w_-]+$') or nil
end

local text = redis.call('GET', game)
local round_id, next_id, item_id
if text and (wants('r') or wants('n') or wants('v') or wants('d')) then
  local fine, state = pcall(cjson.decode, text)
  if fine and type(state) == 'table' then
    round_id = id(state.current_round_id)
    if type(state.vote) == 'table' then item_id = id(state.vote.item_id) end
    if type(state.round_order) == 'table' then
      next_id = id(state.round_order[1])
      for at, known in ipairs(state.round_order) do
        if known == round_id then next_id = id(state.round_order[at + 1]) end
      end
    end
  end
end

local found = { life, redis.call('GET', meta), text, false, false, false, false, false, false, false, false, false, false,
  false, false, false }
if wants('s') then found[4] = redis.call('GET', senders) end
if wants('p') then found[5] = redis.call('GET', players) end
if wants('c') then found[6] = redis.call('HGETALL', claims) end
if wants('o') then found[7] = redis.call('HGETALL', scores) end
if wants('r') and round_id then found[8] = redis.call('GET', prefix .. 'round:' .. round_id) end
if wants('n') and next_id then found[9] = redis.call('GET', prefix .. 'round:' .. next_id) end
if wants('v') and round_id and item_id then
  found[10] = redis.call('HGETALL', prefix .. 'votes:' .. round_id .. ':' .. item_id)
end
if wants('d') and round_id then found[11] = redis.call('HGETALL', prefix .. 'round_delta:' .. round_id) end
if wants('f') then found[12] = redis.call('GET', deadline) end
if wants('w') then found[13] = redis.call('ZRANGEBYSCORE', online, '(' .. now, '+inf') end
if wants('l') then found[14] = redis.call('GET', ended) end
if wants('u') then found[15] = redis.call('GET', rules) end
if wants('x') then found[16] = redis.call('GET', moved) end
return found
