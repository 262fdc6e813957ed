-- The memory of what was passed over. Most claims neither have one nor need one.
local opened_memory
local function open_memory()
  if not opened_memory then
    --- @include "recall_passed"
    opened_memory = memory
  end
  return opened_memory
end
