-- The limit that was set on a type or a group at run time; nothing where none is, or where it cannot be read.
local function read_limit(key, name)
  local text = redis.pcall('HGET', key, name)
  local fine, limit = pcall(cjson.decode, type(text) == 'string' and text or '')
  if not fine or type(limit) ~= 'table' then return end
  local function number(value) return type(value) == 'number' and value or nil end
  return { most = number(limit.concurrency), rate = number(limit.rate), period = number(limit.periodMs) or 60000 }
end
