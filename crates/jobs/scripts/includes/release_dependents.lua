--- @include "read_job"
--- @include "runs_after_failure"
--- @include "follows"
--- @include "fail_dependent"
--- @include "promote_parked"

-- Lets the jobs go on that depend on `id`. When it did not end well they fail, and those that depend on them.
local function release_dependents(id, well)
  local ended = { { id, well } }
  while #ended > 0 do
    local parent, fine = unpack(table.remove(ended))
    local children = ns .. 'x:children:' .. parent
    local ids = redis.pcall('SMEMBERS', children)
    for _, child in ipairs(ids.err and {} or ids) do
      local deps = ns .. 'x:deps:' .. child
      redis.pcall('SREM', deps, parent)
      if redis.call('SISMEMBER', ns .. 'x:parked', child) == 1 then
        local text = redis.call('GET', ns .. 'jobs:data:' .. child)
        local job = text and read_job(text)
        if not job then
          redis.call('SREM', ns .. 'x:parked', child)
          redis.call('DEL', deps)
        elseif not fine and not runs_after_failure(job) and not follows(job, parent) then
          fail_dependent(child, job, parent)
          ended[#ended + 1] = { child, false }
        elseif redis.call('EXISTS', deps) == 0 then
          promote_parked(child, job)
        end
      end
    end
    redis.call('DEL', children)
  end
end
