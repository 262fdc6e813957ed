--- @include "type_json"

-- What a claim needs to know of a type: whether this worker handles it, and may now; the body of the event.
local function see_type(kind)
  local types, paused_types = ARGV[11], ns .. 'queues:paused'
  local handled = types == '' or string.find(types, '\n' .. kind .. '\n', 1, true) ~= nil
  local paused = handled and marks.paused
    and (redis.call('SISMEMBER', paused_types, kind) == 1 or redis.call('SISMEMBER', paused_types, '*') == 1)
  return { handled = handled, paused = paused, body = '{"type":' .. type_json(kind) .. ',"worker":"' .. me .. '"}' }
end
