-- lead: lead the scheduling of a namespace, go on leading it, or stop.
-- KEYS 1 lock    {ns}:scheduler:lock
-- KEYS 2 leader  {ns}:scheduler:leader
-- KEYS 3 events  {ns}:events:stream
-- ARGV 1 verb
-- ARGV 2 id
-- ARGV 3 seconds
-- ARGV 4 text
-- ARGV 5 now
-- ARGV 6 kept
-- GIVES lead | follow | left
local lock, leader, events = KEYS[1], KEYS[2], KEYS[3]
local verb, id, seconds, text, now, kept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

--- @include "append_to"

local holder = redis.call('GET', lock)
if verb == 'leave' then
  if holder ~= id then return 'follow' end
  redis.call('DEL', lock, leader)
  return 'left'
end
if holder == id then
  redis.call('EXPIRE', lock, seconds)
  redis.call('SET', leader, text, 'EX', seconds)
  return 'lead'
end
if holder then return 'follow' end
redis.call('XLEN', events)
redis.call('SET', lock, id, 'NX', 'EX', seconds)
redis.call('SET', leader, text, 'EX', seconds)
if kept ~= '0' then append_to(events, 'leader_changed', now, id, text) end
return 'lead'
