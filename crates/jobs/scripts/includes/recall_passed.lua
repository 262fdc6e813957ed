--- @include "passed_over"

-- The place of an id that stood at `place`, unless it moved far.
local function place_near(id, place)
  place = math.max(place, 0)
  if redis.call('LINDEX', KEYS[1], place) == id then return place end
  local from = math.max(place - NEAR, 0)
  for i, other in ipairs(redis.call('LRANGE', KEYS[1], from, place + NEAR)) do
    if other == id then return from + i - 1 end
  end
end

local function read_class(text)
  if text == GROUPED.name then return GROUPED end
  local kind, aim, most, per_minute, sliding = string.match(text, '^([^\31]+)\31([^\31]*)\31([^\31]*)\31([^\31]*)\31(s?)$')
  if not kind then return end
  local limits = { most = tonumber(most), per_minute = tonumber(per_minute), sliding = sliding == 's' }
  return class_of({ kind = kind }, limits, aim)
end

local function class_text(class)
  if class == GROUPED then return class.name end
  local limits = class.limits
  local function number(value) return value and string.format('%.17g', value) or '' end
  return table.concat({ class.kind, class.aim, number(limits.most), number(limits.per_minute),
    limits.sliding and 's' or '' }, '\31')
end

-- A stretch that still stands where its line says, or not far from it: nothing when it does not. Also how far it moved.
local function find_stretch(line, shift)
  local start, count, first, last, rest = string.match(line, '^(%d+)\t(%d+)\t([^\t]+)\t([^\t]+)\t(.+)$')
  if not start then return nil, shift end
  start, count = tonumber(start), tonumber(count)
  local place = place_near(first, start + shift)
  if not place or count < 1 or redis.call('LINDEX', KEYS[1], place + count - 1) ~= last then
    -- Something in it has changed. The end tells how far those behind it moved.
    local ends = place_near(last, start + shift + count - 1)
    return nil, ends and ends - (start + count - 1) or shift
  end
  local stretch = { start = place, stop = place + count, first = first, last = last, classes = {}, kinds = 0 }
  for text in string.gmatch(rest, '[^\t]+') do
    local class = read_class(text)
    if not class then return nil, shift end
    add_class(stretch, class)
  end
  return stretch, place - start
end

-- The stretches that are remembered and still there, in the order of the list; and since when.
local function recall_passed()
  local text, known, shift, stops = marks.passed and redis.pcall('GET', passed_key), {}, 0, 0
  if type(text) ~= 'string' then return known, now end
  local since, total = string.match(text, '^(%d+)\t(%d+)\n')
  -- A minute for every six thousand jobs: whatever others changed inside of a stretch is found then.
  local keep_ms = math.min(math.max(10 * (tonumber(total) or 0), 10000), 600000)
  if not since or math.abs(tonumber(now) - tonumber(since)) > keep_ms then return known, now end
  for line in string.gmatch(text, '\n([^\n]+)') do
    local stretch
    stretch, shift = find_stretch(line, shift)
    if stretch and stretch.start >= stops then
      known[#known + 1], stops = stretch, stretch.stop
    end
  end
  return known, since
end

-- Writes down the stretches of this claim, if they are worth it. Jobs at the places `gone`, in any order, have been
-- taken out meanwhile.
local function remember_passed(stretches, since, gone)
  local total, lines, before, at = 0, {}, 0, 1
  table.sort(gone)
  for _, one in ipairs(stretches) do
    while gone[at] and gone[at] < one.start do before, at = before + 1, at + 1 end
    local start, inside = one.start - before, 0
    while gone[at] and gone[at] < one.stop do inside, at = inside + 1, at + 1 end
    local count = one.stop - one.start - inside
    before = before + inside
    local first = inside == 0 and one.first or redis.call('LINDEX', KEYS[1], start)
    local last = inside == 0 and one.last or redis.call('LINDEX', KEYS[1], start + count - 1)
    local parts = { start, count, first, last }
    for _, class in pairs(one.classes) do parts[#parts + 1] = class_text(class) end
    if count > 0 and first and last then total, lines[#lines + 1] = total + count, table.concat(parts, '\t') end
  end
  if total < REMEMBERED_MIN then
    if marks.passed then redis.call('DEL', passed_key) end
    return
  end
  redis.call('SET', passed_key, since .. '\t' .. total .. '\n' .. table.concat(lines, '\n'), 'EX', '600')
end

local memory = {
  recall = recall_passed, all_stopped = all_stopped, keep_part = keep_part, pass_over = pass_over, leave_out = leave_out,
  remember = remember_passed,
}
