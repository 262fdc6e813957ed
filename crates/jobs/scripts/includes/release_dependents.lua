--- @include "read_job"
--- @include "after_failure"
--- @include "note_child"
--- @include "fail_dependent"
--- @include "promote_parked"

-- Lets the jobs go on that wait for `id`, which ended as `status`, or was removed and is `gone`. When it did not complete,
-- each does what it says: it fails, and with it those that wait for it; it waits for a better end; or it goes on.
local function release_dependents(id, status, result)
  local ended = { { id, status, result } }
  while #ended > 0 do
    local dependency, how, outcome = unpack(table.remove(ended))
    local key = ns .. 'x:children:' .. dependency
    local ids, still_wait = redis.pcall('SMEMBERS', key), {}
    for _, dependent in ipairs(ids.err and {} or ids) do
      local deps = ns .. 'x:deps:' .. dependent
      if redis.call('SISMEMBER', ns .. 'x:parked', dependent) == 1 then
        local text = redis.call('GET', ns .. 'jobs:data:' .. dependent)
        local job = text and read_job(text)
        local wish = job and how ~= 'completed' and after_failure(job, dependency)
        if job then note_child(dependent, job, dependency, how, outcome) end
        if wish == 'wait' and how ~= 'gone' then
          still_wait[#still_wait + 1] = dependent
        elseif not job then
          redis.call('SREM', ns .. 'x:parked', dependent)
          redis.call('DEL', deps)
        elseif wish == 'fail' then
          ended[#ended + 1] = { dependent, fail_dependent(dependent, job, dependency) }
        else
          redis.pcall('SREM', deps, dependency)
          if redis.call('EXISTS', deps) == 0 then promote_parked(dependent, job) end
        end
      end
    end
    if ids.err or #ids > 0 then redis.call('DEL', key) end
    if #still_wait > 0 then redis.call('SADD', key, unpack(still_wait)) end
  end
end
