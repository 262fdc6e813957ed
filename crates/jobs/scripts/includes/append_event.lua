-- Appends an event, unless the namespace has them switched off.
--- @include "append_to"
local writes_events, event_stream = string.find(opts, 'e', 1, true), ns .. 'events:stream'
local function append_event(kind, id, body)
  if writes_events then append_to(event_stream, kind, now, id, body) end
end
