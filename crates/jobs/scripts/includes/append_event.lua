-- Appends an event, unless the namespace has them switched off. The first one of a step trims the stream for all.
local writes_events, event_stream, is_trimmed = string.find(opts, 'e', 1, true), ns .. 'events:stream', false
local function append_event(kind, id, body)
  if not writes_events then return end
  if is_trimmed then
    redis.call('XADD', event_stream, '*', 'type', kind, 'at', now, 'id', id, 'body', body)
  else
    is_trimmed = true
    redis.call('XADD', event_stream, 'MAXLEN', '~', '10000', '*', 'type', kind, 'at', now, 'id', id, 'body', body)
  end
end
