-- The turns of groups. Most queues have none.
local opened_turns
local function open_turns()
  if not opened_turns then
    --- @include "take_turn"
    opened_turns = turns
  end
  return opened_turns
end
