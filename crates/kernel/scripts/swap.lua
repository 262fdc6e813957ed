-- swap: compare what a decision was based on, then write, index and tell, in one step or not at all.
-- KEYS 1   document  *
-- KEYS 2.. others    *
-- ARGV 1   guards
-- ARGV 2.. writes
-- CALLS SADD SREM ZADD ZREM HSET HDEL HINCRBY INCRBY LPUSH RPUSH LREM SET DEL PEXPIRE XADD XACK PUBLISH
-- GIVES swapped | changed | gone
local KIND = { SADD = 'set', SREM = 'set', ZADD = 'zset', ZREM = 'zset', HSET = 'hash', HDEL = 'hash',
  HINCRBY = 'hash', LPUSH = 'list', RPUSH = 'list', LREM = 'list', XADD = 'stream', XACK = 'stream',
  INCRBY = 'string', RELEASE = 'hash' }
local at, guards, last = 2, tonumber(ARGV[1]), #ARGV

for _ = 1, guards do
  local want, n, text = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local key, missing = KEYS[n], n == 1 and 'gone' or 'changed'
  at = at + 3
  if want == 'text' then
    local have = redis.call('GET', key)
    if not have then return missing end
    if have ~= text then return 'changed' end
  elseif want == 'absent' then
    if redis.call('EXISTS', key) == 1 then return 'changed' end
  elseif want == 'exists' then
    if redis.call('EXISTS', key) == 0 then return missing end
  elseif want == 'pending' then
    -- A command that somebody has answered meanwhile is answered once only. `text` is the group.
    local waits = redis.pcall('XPENDING', key, text, ARGV[at], ARGV[at], 1)
    if waits.err or #waits == 0 then return 'changed' end
    at = at + 1
  else
    -- A field of a hash: `field` takes the text wanted as one more argument, `nofield` none.
    local have = redis.call('HGET', key, text)
    if want == 'nofield' then
      if have then return 'changed' end
    else
      if have ~= ARGV[at] then return 'changed' end
      at = at + 1
    end
  end
end

-- A write that fails halfway would leave the ones before it. Look at all of them first.
local function refuse(key, why)
  return redis.error_reply('WRONGTYPE ' .. key .. ' ' .. why .. ', nothing was written')
end
local first = at
while at <= last do
  local count, name, key = tonumber(ARGV[at]), ARGV[at + 1], KEYS[tonumber(ARGV[at + 2])]
  local want = KIND[name]
  if want then
    local is = redis.call('TYPE', key).ok
    if is ~= 'none' and is ~= want then return refuse(key, 'holds a ' .. is .. ', not a ' .. want) end
    local number
    if name == 'HINCRBY' then number = redis.call('HGET', key, ARGV[at + 3]) end
    if name == 'INCRBY' then number = redis.call('GET', key) end
    if number and not string.match(number, '^-?%d+$') then return refuse(key, 'holds no whole number') end
  end
  at = at + 3 + count
end

at = first
while at <= last do
  local count, name, n = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
  if name == 'RELEASE' then
    -- A claim in a hash: only its holder lets it go.
    if redis.call('HGET', KEYS[n], ARGV[at + 3]) == ARGV[at + 4] then
      redis.call('HDEL', KEYS[n], ARGV[at + 3])
    end
  elseif n == 0 then
    redis.call(name, unpack(ARGV, at + 3, at + 2 + count))
  else
    redis.call(name, KEYS[n], unpack(ARGV, at + 3, at + 2 + count))
  end
  at = at + 3 + count
end
return 'swapped'
