-- Notes in what a worker remembers that a job stays at `place`, or a stretch of them: `first` is the first one, `tail` the
-- last one that this worker can never run.
local function stay(own, id, place, changes, is_fresh)
  own = own or { tail = '', place = -1, keeps = true }
  own.first = own.first or id
  if changes then
    -- A job that may become claimable without moving ends what may be passed over.
    if is_fresh then own.tail, own.place = '', -1 end
    own.keeps = false
  elseif own.keeps and not is_fresh then
    own.tail, own.place = id, place
  end
  return own
end

-- The memory of what was passed over. Most claims neither have one nor need one.
local opened_memory
local function open_memory()
  if not opened_memory then
    --- @include "recall_passed"
    opened_memory = memory
  end
  return opened_memory
end
