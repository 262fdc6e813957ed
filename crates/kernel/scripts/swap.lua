-- swap: compare what a decision was based on, then write, index and tell, in one step or not at all.
-- KEYS 1   document  *
-- KEYS 2.. others    *
-- ARGV 1   guards
-- ARGV 2.. writes
-- CALLS SADD SREM ZADD ZREM HSET HSETNX HDEL HINCRBY INCRBY LPUSH RPUSH LREM SET DEL PEXPIRE XADD XACK XDEL PUBLISH
-- GIVES done | refused, number of the guard, whether its key exists, the document's text if that was it
local KIND = { SADD = 'set', SREM = 'set', ZADD = 'zset', ZREM = 'zset', HSET = 'hash', HDEL = 'hash',
  HSETNX = 'hash', HINCRBY = 'hash', LPUSH = 'list', RPUSH = 'list', LREM = 'list', XADD = 'stream', XACK = 'stream',
  XDEL = 'stream', INCRBY = 'string', RELEASE = 'hash', SPLICE = 'string' }
local at, guards, last = 2, tonumber(ARGV[1]), #ARGV

for guard = 0, guards - 1 do
  local want, key, text = ARGV[at], KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2]
  local holds, found
  at = at + 3
  if want == 'text' then
    local have = redis.call('GET', key)
    holds, found = have == text, guard == 0 and have
  elseif want == 'sha' then
    -- The hash travels instead of megabytes, so the text does not travel back either.
    local have = redis.call('GET', key)
    holds = have and redis.sha1hex(have) == text
  elseif want == 'absent' then
    holds = redis.call('EXISTS', key) == 0
  elseif want == 'exists' then
    holds = redis.call('EXISTS', key) == 1
  elseif want == 'count' then
    holds = redis.call('HLEN', key) == tonumber(text)
  elseif want == 'nofield' then
    holds = not redis.call('HGET', key, text)
  elseif want == 'field' then
    holds = redis.call('HGET', key, text) == ARGV[at]
    at = at + 1
  else
    -- A command is answered once. `text` is its group; one that is gone has no command to answer.
    local waits = redis.pcall('XPENDING', key, text, ARGV[at], ARGV[at], 1)
    holds = not waits.err and #waits > 0
    at = at + 1
  end
  if not holds then return { 'refused', guard, redis.call('EXISTS', key), found } end
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
  elseif name == 'SPLICE' then
    -- Bytes of a long text become others, so that it does not travel.
    local have, from, to = redis.call('GET', KEYS[n]) or '', ARGV[at + 3], ARGV[at + 4]
    local text = string.sub(have, 1, tonumber(from)) .. ARGV[at + 5] .. string.sub(have, to + 1)
    redis.call('SET', KEYS[n], text, 'KEEPTTL')
  elseif name == 'LIFE' then
    -- A key without a life gets one: the document until then, others what is left of it.
    if redis.call('PTTL', KEYS[n]) == -1 then
      if n == 1 then
        redis.call('PEXPIREAT', KEYS[1], ARGV[at + 3])
      else
        redis.call('PEXPIRE', KEYS[n], redis.call('PTTL', KEYS[1]))
      end
    end
  elseif n == 0 then
    redis.call(name, unpack(ARGV, at + 3, at + 2 + count))
  else
    redis.call(name, KEYS[n], unpack(ARGV, at + 3, at + 2 + count))
  end
  at = at + 3 + count
end
return 'done'
