--- @include "append_event"
--- @include "type_body"
--- @include "place_job"

-- Lets a parked job go where it belongs, because it depends on nothing any more.
local function promote_parked(id, job)
  redis.call('SREM', ns .. 'x:parked', id)
  redis.call('DEL', ns .. 'x:deps:' .. id)
  place_job(id, job)
  append_event('promoted', id, type_body(job.type))
end
