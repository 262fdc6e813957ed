--- @include "type_json"

-- The body of an event that says nothing but the job's type.
local function type_body(kind)
  return '{"type":' .. type_json(kind) .. '}'
end
