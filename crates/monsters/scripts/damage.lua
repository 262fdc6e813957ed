-- damage: hits take hp from one monster. Its text is edited in place and nothing is encoded anew. What kills, is
-- reflected, or stands in a text of another spelling is given back: the caller swaps in the new text.
-- KEYS 1 monster  atlas:monster:{tenantId}:{uniqueId}
-- KEYS 2 events   wk:monsters:{tenantId}:events
-- KEYS 3 due      wk:monsters:{tenantId}:due
-- KEYS 4 data     wk:monsters:{tenantId}:due:data
-- ARGV 1 head
-- ARGV 2 total
-- ARGV 3 added
-- ARGV 4 known
-- ARGV 5 sums
-- ARGV 6 template
-- ARGV 7 control
-- ARGV 8 now_ms
-- ARGV 9 id
-- ARGV 10 opening
-- ARGV 11 middle
-- ARGV 12 closing
-- ARGV 13 recover_ms
-- ARGV 14 old
-- ARGV 15 new
-- ARGV 16 event
-- GIVES gone | known | list of a word and the text
local monster, events, due, data = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local head, added, known, sums, now_ms, id = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[8], ARGV[9]
local find, sub = string.find, string.sub
local text = redis.call('GET', monster)
if not text then return 'gone' end
-- Nobody changed it since the caller last looked: the caller made the same edit already.
if text == ARGV[14] then
  redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'type', 'DAMAGED', 'at', now_ms, 'id', id, 'body', ARGV[16])
  redis.call('SET', monster, ARGV[15])
  return 'known'
end

-- `head` is the text up to the digits of hp: where it is the same, hp stands at the top level.
local hp, rest, template, control, x, y, from = string.match(text,
  '^(%d+)(,"maxMp":%d+,"mp":%d+,"monsterId":(%d+),"controlCharacterId":(%d+),"x":(%-?%d+),"y":(%-?%d+),' ..
  '"fh":%-?%d+,"stance":%d+,"team":%-?%d+,"damageEntries":%[)()', #head + 1)
-- No string can hold this: its quote would be escaped.
local close = from and find(text, '],"statusEffects":', from, true)
if not close or sub(text, 1, #head) ~= head or template ~= ARGV[6] or find(text, '_COUNTER"', close, true) then
  return { 'reread', text }
end
local left = hp - ARGV[2]
if left <= 0 then return { 'reread', text } end

local entries, tail = sub(text, from, close - 1), sub(text, close)
local same = entries == known and control == ARGV[7]
local all = entries == '' and added or entries .. ',' .. added
if entries ~= known then
  -- Somebody else hit it since the caller last looked: the sums of the event are made here.
  local order, sum, count = {}, {}, 0
  for who, damage in string.gmatch(all, '{"characterId":(%d+),"damage":(%d+)') do
    if not sum[who] then order[#order + 1] = who end
    sum[who], count = (sum[who] or 0) + damage, count + 1
  end
  local _, braces = string.gsub(all, '{', '{')
  if braces ~= count or count > 1024 then return { 'reread', text } end
  for at, who in ipairs(order) do
    order[at] = '{"characterId":' .. who .. ',"damage":' .. string.format('%.0f', sum[who]) .. '}'
  end
  sums = '[' .. table.concat(order, ',') .. ']'
end
if ARGV[13] ~= '' then
  local stamp = '"lastDamageTakenMs":' .. now_ms
  local edited, count = string.gsub(tail, '"lastDamageTakenMs":%d+', stamp, 1)
  if count == 0 then edited = sub(tail, 1, -2) .. ',' .. stamp .. '}' end
  tail = edited
  if redis.call('ZADD', due, 'NX', ARGV[13], 'rec:' .. id) == 1 then
    redis.call('HSET', data, 'rec:' .. id, '- ' .. id)
  end
end
-- The text goes last: a stream or timer of a wrong type ends the script while nothing is changed yet.
redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'type', 'DAMAGED', 'at', now_ms, 'id', id, 'body',
  ARGV[10] .. x .. ',"y":' .. y .. ',"observerId":' .. control .. ARGV[11] .. sums .. ARGV[12])
text = head .. left .. rest .. all .. tail
redis.call('SET', monster, text)
if same then return 'known' end
return { 'told', text }
