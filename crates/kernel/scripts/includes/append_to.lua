-- Appends an event to a stream, which keeps about 10000. The first one of a step trims the stream for all.
local trimmed_stream
local function append_to(stream, kind, at, id, body)
  if trimmed_stream == stream then
    redis.call('XADD', stream, '*', 'type', kind, 'at', at, 'id', id, 'body', body)
  else
    trimmed_stream = stream
    redis.call('XADD', stream, 'MAXLEN', '~', '10000', '*', 'type', kind, 'at', at, 'id', id, 'body', body)
  end
end
