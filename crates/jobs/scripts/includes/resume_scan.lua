-- Where a scan goes on. The head of the list holds nothing but jobs that this worker can never run: `head` was the first
-- of them, `last` the last, at `index`. Gives how many new heads stand before them, and the place behind them; nothing
-- and 0 when they are not there any more.
local function resume_scan(head, last, index)
  local waiting, fresh = KEYS[1], 0
  if redis.call('LINDEX', waiting, 0) ~= head then
    fresh = redis.call('LPOS', waiting, head, 'MAXLEN', 128) or 64
  end
  if redis.call('LINDEX', waiting, index + fresh) == last then return fresh, index + fresh + 1 end
  -- Others took jobs away in front of it. Farther back than it was, it is a job that came back.
  local place = redis.call('LPOS', waiting, last, 'MAXLEN', index + fresh + 1)
  if place and place >= fresh then return fresh, place + 1 end
  return nil, 0
end
