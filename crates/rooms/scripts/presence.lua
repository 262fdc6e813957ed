-- presence: who of a room has an open socket: comes, goes, or is found to have run out; changes are told.
-- KEYS 1 meta    room:{code}:meta
-- KEYS 2 online  wk:rooms:{code}:online
-- ARGV 1 word
-- ARGV 2 code
-- ARGV 3 server
-- ARGV 4 who
-- ARGV 5 now
-- ARGV 6 until_ms
-- ARGV 7 channel
-- GIVES changed | same | gone
local meta, online = KEYS[1], KEYS[2]
local word, code, server, who, now, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[7]
local life = redis.call('PTTL', meta)
if life == -2 then return 'gone' end

local function is_online(one)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', online, '(' .. now, '+inf')) do
    if string.match(member, ':([^:]+)$') == one then return true end
  end
  return false
end
-- The Master's own presence interests the players, theirs interests the Master.
local function tell(one, connected)
  local about = one == '@master' and '"role":"master"' or '"player_id":"' .. one .. '"'
  redis.call('PUBLISH', channel, (one == '@master' and 'p' or 'm') .. ' {"type":"PRESENCE","payload":{"code":"'
    .. code .. '",' .. about .. ',"connected":' .. tostring(connected) .. '}}')
end

if word == 'sweep' then
  local answer = 'same'
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', online, '-inf', now)) do
    redis.call('ZREM', online, member)
    local one = string.match(member, ':([@%w_-]+)$')
    if one and not is_online(one) then
      tell(one, false)
      answer = 'changed'
    end
  end
  return answer
end

local before, member = is_online(who), server .. ':' .. who
if word == 'on' then
  redis.call('ZADD', online, ARGV[6], member)
  if life > 0 and redis.call('PTTL', online) == -1 then redis.call('PEXPIRE', online, life) end
else
  redis.call('ZREM', online, member)
end
local after = is_online(who)
if before == after then return 'same' end
tell(who, after)
return 'changed'
