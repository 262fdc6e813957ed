-- dispatch: one plain job under a fresh id goes to the end of the list, in one step; `enqueue` takes all others.
-- KEYS 1  waiting  {ns}:jobs:waiting
-- ARGV 1  now
-- ARGV 2  id
-- ARGV 3  text
-- ARGV 4  type
-- ARGV 5  body
-- BUILDS {ns}:jobs:data:{jobId} {ns}:jobs:status:{jobId} {ns}:events:stream {ns}:x:wake
-- GIVES an empty text
local call, waiting, id = redis.call, KEYS[1], ARGV[2]
local ns = string.sub(waiting, 1, -13)
-- The list comes first, then the event (none where it has no body): a key of another type refuses before anything stays.
call('RPUSH', waiting, id)
if ARGV[5] ~= '' then
  local told = redis.pcall('XADD', ns .. 'events:stream', 'MAXLEN', '~', '10000', '*', 'type', 'dispatched', 'at',
    ARGV[1], 'id', id, 'body', ARGV[5])
  if type(told) == 'table' then
    call('RPOP', waiting)
    return told
  end
end
call('MSET', ns .. 'jobs:data:' .. id, ARGV[3], ns .. 'jobs:status:' .. id, 'waiting')
call('PUBLISH', ns .. 'x:wake', ARGV[4])
return ''
