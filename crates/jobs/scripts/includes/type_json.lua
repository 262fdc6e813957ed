-- A job type as JSON, escaped only where JSON demands it.
local function type_json(kind)
  return string.find(kind, '[%c"\\]') and cjson.encode(kind) or '"' .. kind .. '"'
end
