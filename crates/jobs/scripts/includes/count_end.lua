--- @include "append_event"
--- @include "type_body"
--- @include "requeue_job"
--- @include "index_jobs"
--- @include "is_flow"
--- @include "close_flow"

-- Counts the end of a job where it was promised: its uniqueness key is free, its batch counts it and starts its
-- callback after the last one.
local function count_end(id, digest, batch, well)
  if digest then
    local key = ns .. 'x:unique:' .. digest
    if redis.pcall('GET', key) == id then redis.call('DEL', key) end
  end
  local key = batch and ns .. 'x:batch:' .. batch
  if not key or redis.call('TYPE', key).ok ~= 'hash' then return end
  redis.call('HINCRBY', key, well and 'completed' or 'failed', 1)
  if redis.call('HINCRBY', key, 'pending', -1) > 0 then return end
  if redis.call('HSETNX', key, 'endedAt', now) == 0 then return end
  redis.call('EXPIRE', key, 86400)
  local callback = redis.call('HMGET', key, 'callback', 'callbackId', 'callbackType', 'callbackHigh')
  local text, callback_id, kind = callback[1], callback[2], callback[3]
  if not text or not callback_id or redis.call('EXISTS', ns .. 'jobs:data:' .. callback_id) == 1 then return end
  redis.call('SET', ns .. 'jobs:data:' .. callback_id, text)
  append_event('dispatched', callback_id, type_body(kind))
  index_jobs({ callback_id })
  requeue_job(callback_id, kind, callback[4] == '1', text)
end

-- The same for a job of which only the table is known; and its flow, if it has one.
local function count_end_of(id, job, status)
  local x = type(job.x) == 'table' and job.x or {}
  local digest = type(x.uniqueKey) == 'string' and redis.sha1hex(x.uniqueKey)
  count_end(id, digest, type(x.batch) == 'string' and x.batch, status == 'completed')
  if is_flow_parent(job) then close_flow(id, status) end
end
