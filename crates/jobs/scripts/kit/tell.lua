
-- Appends an event, unless the namespace tells none. `ns`, `now` and `opts` are the script's own.
local tells = opts == 'e' or string.find(opts, 'e', 1, true)
kit.tell = function(kind, id, body)
  if tells then
    redis.call('XADD', ns .. 'events:stream', 'MAXLEN', '~', '10000', '*', 'type', kind, 'at', now, 'id', id,
      'body', body)
  end
end
