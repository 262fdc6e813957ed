-- damage: hits take hp from monsters of one tenant, from each by itself. A text is edited in place and nothing is encoded
-- anew. What kills, is reflected, or stands in a text of another spelling is given back: the caller swaps in the new text.
-- KEYS 1   events    wk:monsters:{tenantId}:events
-- KEYS 2   due       wk:monsters:{tenantId}:due
-- KEYS 3   data      wk:monsters:{tenantId}:due:data
-- KEYS 4.. monsters  atlas:monster:{tenantId}:{uniqueId}
-- ARGV 1.. parts
-- GIVES gone | known | list of answers, each a word, or a word and a text
local events, due, data = KEYS[1], KEYS[2], KEYS[3]
local find, sub, match = string.find, string.sub, string.match
local PARTS, out, done = 12, {}, false

-- A server hashes every byte of every string that Lua makes: few are made where nobody changed the monster.
local function hit(n, head, hp, left, body, tail, added, event, total, template, now_ms, id, recover)
  local monster = KEYS[n]
  local text = redis.call('GET', monster)
  if not text then return 'gone' end
  local inner, ending, same = body, tail, true
  local from = #head + #hp
  -- Where nobody changed it since the caller last looked, the event is the one that the caller made.
  if hp == '' or recover ~= '' or #text ~= from + #body + #tail or find(text, head, 1, true) ~= 1
    or find(text, hp, #head + 1, true) ~= #head + 1 or find(text, body, from + 1, true) ~= from + 1
    or not find(text, tail, from + #body + 1, true) then
    -- `head` is the text up to the digits of hp: where it is the same, hp stands at the top level.
    local old, kind, control, x, y, opens = match(text,
      '^(%d+),"maxMp":%d+,"mp":%d+,"monsterId":(%d+),"controlCharacterId":(%d+),"x":(%-?%d+),"y":(%-?%d+),' ..
      '"fh":%-?%d+,"stance":%d+,"team":%-?%d+,"damageEntries":%[()', #head + 1)
    -- No string can hold this: its quote would be escaped.
    local close = opens and find(text, '],"statusEffects":', opens, true)
    if not close or find(text, head, 1, true) ~= 1 or kind ~= template or find(text, '_COUNTER"', close, true) then
      return { 'reread', text }
    end
    left = old - total
    if left <= 0 then return { 'reread', text } end
    inner, ending = sub(text, #head + #old + 1, close - 1), sub(text, close)
    same = old == hp and inner == body
    if not same then
      -- Somebody else hit or moved it since: what the event says of it is made here.
      local order, sum, count = {}, {}, 0
      local all = opens == close and added or sub(text, opens, close - 1) .. ',' .. added
      for who, damage in string.gmatch(all, '{"characterId":(%d+),"damage":(%d+)') do
        if not sum[who] then order[#order + 1] = who end
        sum[who], count = (sum[who] or 0) + damage, count + 1
      end
      local _, braces = string.gsub(all, '{', '{')
      if braces ~= count or count > 1024 then return { 'reread', text } end
      for at, who in ipairs(order) do
        order[at] = '{"characterId":' .. who .. ',"damage":' .. string.format('%.0f', sum[who]) .. '}'
      end
      local opening, middle, closing = match(event,
        '^(.-"x":).-"observerId":%d+(,"actorId":%d+,"boss":%l+,"damageEntries":%[)[^%]]*(%].*)$')
      event = opening .. x .. ',"y":' .. y .. ',"observerId":' .. control .. middle .. table.concat(order, ',') .. closing
    end
  end
  if recover ~= '' then
    local stamp = '"lastDamageTakenMs":' .. now_ms
    local edited, count = string.gsub(ending, '"lastDamageTakenMs":%d+', stamp, 1)
    ending = count == 0 and sub(ending, 1, -2) .. ',' .. stamp .. '}' or edited
    if redis.call('ZADD', due, 'NX', recover, 'rec:' .. id) == 1 then
      redis.call('HSET', data, 'rec:' .. id, '- ' .. id)
    end
  end
  -- The text goes last: a stream or timer of a wrong type ends the hit while nothing is changed yet.
  redis.call('XADD', events, 'MAXLEN', '~', '10000', '*', 'type', 'DAMAGED', 'at', now_ms, 'id', id, 'body', event)
  done = true
  -- 91 is the bracket that opens the list.
  text = head .. left .. inner .. (string.byte(inner, -1) == 91 and '' or ',') .. added .. ending
  redis.call('SET', monster, text)
  if same then return 'known' end
  return { 'told', text }
end

for n = 4, #KEYS do
  local at = (n - 4) * PARTS
  local fine, answer = pcall(hit, n, unpack(ARGV, at + 1, at + PARTS))
  if not fine then
    local why = type(answer) == 'table' and answer.err or tostring(answer)
    -- What the server refuses altogether is refused before the first write; a wrong type is that monster's own fault.
    if not done and not find(why, 'WRONGTYPE', 1, true) then return redis.error_reply(why) end
    answer = { 'error', why }
  end
  out[n - 3] = answer
end
return out
