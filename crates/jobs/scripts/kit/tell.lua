
-- Appends an event, unless the namespace tells none; the first of a step trims for all. `ns`, `now` and `opts` are
-- the script's own.
local tells, stream, trimmed = opts == 'e' or string.find(opts, 'e', 1, true), ns .. 'events:stream', false
kit.tell = function(kind, id, body)
  if not tells then return end
  if trimmed then
    redis.call('XADD', stream, '*', 'type', kind, 'at', now, 'id', id, 'body', body)
  else
    trimmed = true
    redis.call('XADD', stream, 'MAXLEN', '~', '10000', '*', 'type', kind, 'at', now, 'id', id, 'body', body)
  end
end
