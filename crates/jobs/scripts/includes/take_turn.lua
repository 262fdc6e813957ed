--- @include "group_line"
--- @include "read_limit"
--- @include "starts"

local GROUPS_MAX, JOBS_MAX = 32, 8
local next_turn, no_turn, turns_taken = nil, false, {}
-- Jobs that were claimed at the place of another one, with their own places.
local elsewhere = {}

-- Drops a job, and its group after the last one.
local function drop(id, group)
  redis.call('ZREM', ns .. 'x:group:' .. group, id)
  if redis.call('EXISTS', ns .. 'x:group:' .. group) == 0 then redis.call('ZREM', groups, group) end
end

-- Whether the limit on a group stops it now. Jobs that do not run any more are forgotten when the limit is reached.
local function is_group_limited(group)
  local key = ns .. 'x:group_limits'
  local limit = marks.group_limits and (read_limit(key, group) or read_limit(key, '*'))
  if not limit then return nil end
  local runs = ns .. 'x:group_runs:' .. group
  if limit.most and redis.call('SCARD', runs) >= limit.most then
    for _, id in ipairs(redis.call('SMEMBERS', runs)) do
      local is_running = turns_taken[id] or redis.call('SISMEMBER', active, id) == 1
      if not is_running then redis.call('SREM', runs, id) end
    end
    if redis.call('SCARD', runs) >= limit.most then return true, limit end
  end
  local starts = ns .. 'x:group_rate:' .. group
  return limit.rate and starts_in(starts, limit.period) >= limit.rate, limit
end

-- The first job of a group that this worker may run, with its text and its place in the list; then whether others were
-- dropped on the way.
local function look_at(group)
  local dropped = false
  for _, id in ipairs(redis.call('ZRANGE', ns .. 'x:group:' .. group, 0, JOBS_MAX - 1)) do
    local text = redis.pcall('GET', ns .. 'jobs:data:' .. id)
    local kind, limits, target, job
    if type(text) == 'string' then kind, limits, target, job = peek_job(text) end
    if not kind or not why_not(see_type(kind), limits, target, job) then
      local place = kind and not turns_taken[id] and redis.call('LPOS', KEYS[1], id)
      if place and redis.call('EXISTS', ns .. 'jobs:lock:' .. id) == 0 then
        return { id = id, text = text, place = place, group = group }
      elseif not place then
        drop(id, group)
        dropped = true
      end
    end
  end
  return nil, dropped
end

local function first_of(group)
  for _ = 1, JOBS_MAX do
    local turn, dropped = look_at(group)
    if turn or not dropped then return turn end
  end
end

-- The job whose turn it is; nothing when no group has one that may run.
local function find_turn()
  if next_turn or no_turn then return next_turn end
  local limited = {}
  for _, group in ipairs(redis.call('ZRANGE', groups, 0, GROUPS_MAX - 1)) do
    local stopped, limit = is_group_limited(group)
    next_turn = not stopped and first_of(group)
    if next_turn then
      next_turn.limit = limit
      break
    end
    limited[#limited + 1] = group
  end
  -- With more groups than are looked at, those that could not use their turn let the others go first.
  if #limited == GROUPS_MAX then for _, group in ipairs(limited) do go_last(group) end end
  no_turn = not next_turn
  next_turn = next_turn or nil
  return next_turn
end

-- Claims the job whose turn it is, wherever it stands, and lets the other groups go first. Gives it, or nothing.
local function take_next(claim)
  local turn = find_turn()
  next_turn = nil
  if not turn then return end
  if claim(turn.id, turn.text, true) then
    -- It cannot be claimed after all. A claim that meets it in the list enters it again.
    return drop(turn.id, turn.group)
  end
  local group, limit = turn.group, turn.limit or {}
  turns_taken[turn.id], elsewhere[turn.id] = true, turn.place
  drop(turn.id, group)
  if redis.call('ZSCORE', groups, group) then go_last(group) end
  if limit.most then
    redis.call('SADD', ns .. 'x:group_runs:' .. group, turn.id)
    redis.call('EXPIRE', ns .. 'x:group_runs:' .. group, '86400')
  end
  if limit.rate then note_start(ns .. 'x:group_rate:' .. group, limit.period, turn.id) end
  return turn
end

-- Gives the place of a job to the group whose turn it is. Nothing when the job itself is claimed, else why it stays.
local function give_place(id, group, claim)
  if turns_taken[id] then return nil end
  if enter(id, group) then no_turn = false end
  local turn = take_next(claim)
  if not turn or turn.id ~= id then return LIMITED end
end

local turns = { give_place = give_place, take_next = take_next, find = find_turn, elsewhere = elsewhere }
