-- guess: counts one more code of no room for an address, on all servers together. The window begins with the first.
-- KEYS 1 guesses  wk:rooms:guesses:{address}
-- ARGV 1 window_ms
-- GIVES how many in this window, and how long it lasts still
local guesses = KEYS[1]
local count = redis.call('INCR', guesses)
if redis.call('PTTL', guesses) == -1 then redis.call('PEXPIRE', guesses, ARGV[1]) end
return { count, redis.call('PTTL', guesses) }
