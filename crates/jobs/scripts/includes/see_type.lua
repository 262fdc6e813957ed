--- @include "type_json"

-- What a claim needs to know of a type, looked up once: whether this worker handles it, and may now; the limit that
-- was set on it; the body of the event.
local types_seen = {}
local function see_type(kind)
  if types_seen[kind] then return types_seen[kind] end
  local types, paused_types = ARGV[11], ns .. 'queues:paused'
  local handled = types == '' or string.find(types, '\n' .. kind .. '\n', 1, true) ~= nil
  local paused = handled and marks.paused
    and (redis.call('SISMEMBER', paused_types, kind) == 1 or redis.call('SISMEMBER', paused_types, '*') == 1)
  local limit
  if handled and marks.limits then
    --- @include "read_limit"
    limit = read_limit(ns .. 'x:limits', kind)
  end
  local body = '{"type":' .. type_json(kind) .. ',"worker":"' .. me .. '"}'
  types_seen[kind] = { kind = kind, handled = handled, paused = paused, limit = limit, body = body }
  return types_seen[kind]
end
