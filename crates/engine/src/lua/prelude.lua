-- Runs once in every Lua state, before any script. Makes the globals read-only, turns errors of ours into
-- what scripts expect wherever one can be caught, and holds the function that loads a library.
-- Its frames are skipped when an error looks for its line, so errors point into the script.
local real, rust, strings, bare = ...

local type, error, tostring, select, unpack = real.type, real.error, real.tostring, real.select, real.unpack
local next, rawget, rawset, getmetatable, setmetatable =
  real.next, real.rawget, real.rawset, real.getmetatable, real.setmetatable
local plain_pcall, plain_xpcall, plain_resume = real.pcall, real.xpcall, real.coroutine.resume
local loadstring, collectgarbage, concat, byte = real.loadstring, real.collectgarbage, real.table.concat, real.string.byte
local unwrap, arm, stopping = rust.unwrap, rust.arm, rust.stopping

-- The interpreter of debug builds aborts when a protected call hands on more results than a C function has
-- room for by right; there the results travel in a table.
if rust.checked then
  local function pack(...) return { n = select('#', ...), ... } end
  local function spread(ok, value)
    if ok then return true, unpack(value, 1, value.n) end
    return false, value
  end
  local quick_pcall, quick_xpcall = plain_pcall, plain_xpcall
  local function packed(f, ...) return pack(f(...)) end
  function plain_pcall(...) return spread(quick_pcall(packed, ...)) end
  function plain_xpcall(f, handle)
    return spread(quick_xpcall(function() return pack(f()) end, handle))
  end
end

-- Read-only tables: an empty table in front, the real one behind. The real one is never handed out.
local READONLY = 'Attempt to modify a readonly table'
local behind, metatables = {}, {}

local function refuse() error(READONLY, 2) end

local function protect(table, shown)
  local front = {}
  local meta = { __index = table, __newindex = refuse, __metatable = false }
  behind[front], metatables[front] = table, shown
  setmetatable(front, meta)
  return front, meta
end

local function missing(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

-- What scripts catch: never an error object of ours.
local function caught(ok, ...)
  if ok then return true, ... end
  local value = ...
  if type(value) == 'userdata' then value = unwrap(value) end
  if type(value) == 'table' then
    local message = value.err
    if type(message) == 'string' or type(message) == 'number' then value = message end
  end
  return false, value
end

local function resumed(ok, ...)
  if ok then return true, ... end
  local value = ...
  if type(value) == 'userdata' then value = unwrap(value) end
  return false, value
end

function real.pcall(...) return caught(plain_pcall(...)) end

function real.xpcall(f, handle)
  return plain_xpcall(f, function(value)
    if type(value) == 'userdata' then value = unwrap(value) end
    -- No hook runs in a handler of an error that a hook raised: it could not be stopped again.
    if stopping() then return value end
    return handle(value)
  end)
end

function real.coroutine.resume(...) return resumed(plain_resume(...)) end

local function check_table(name, value)
  if type(value) ~= 'table' then
    local got = value == nil and 'no value' or type(value)
    error("bad argument #1 to '" .. name .. "' (table expected, got " .. got .. ')', 3)
  end
end

local function next_behind(front, key)
  return next(behind[front], key)
end

function real.next(table, key)
  check_table('next', table)
  return next(behind[table] or table, key)
end

function real.pairs(table)
  check_table('pairs', table)
  if behind[table] then return next_behind, table, nil end
  return next, table, nil
end

function real.rawget(table, key)
  check_table('rawget', table)
  return rawget(behind[table] or table, key)
end

function real.rawset(table, key, value)
  check_table('rawset', table)
  if behind[table] then error(READONLY, 0) end
  return rawset(table, key, value)
end

function real.getmetatable(value)
  if behind[value] then return metatables[value] end
  return getmetatable(value)
end

function real.setmetatable(table, meta)
  check_table('setmetatable', table)
  if behind[table] then error(READONLY, 0) end
  if meta ~= nil and type(meta) ~= 'table' then
    error("bad argument #2 to 'setmetatable' (nil or table expected)", 2)
  end
  return setmetatable(table, meta)
end

-- Text only: bytecode can break the interpreter.
function real.loadstring(code, name)
  if type(code) ~= 'string' and type(code) ~= 'number' then
    local got = code == nil and 'no value' or type(code)
    error("bad argument #1 to 'loadstring' (string expected, got " .. got .. ')', 2)
  end
  if byte(code, 1) == 27 then
    return nil, '[string "' .. 'binary' .. '"]:1: unexpected symbol near \'char(27)\''
  end
  return loadstring(code, name)
end

function real.load(reader, name)
  if type(reader) ~= 'function' then
    local got = reader == nil and 'no value' or type(reader)
    error("bad argument #1 to 'load' (function expected, got " .. got .. ')', 2)
  end
  local parts = {}
  while true do
    local ok, part = real.pcall(reader)
    if not ok then return nil, part end
    if part == nil or part == '' then break end
    if type(part) ~= 'string' then return nil, 'reader function must return a string' end
    parts[#parts + 1] = part
  end
  return real.loadstring(concat(parts), name or '=(load)')
end

-- A script may look and collect, but not change how the collector works for the next one.
local allowed = { collect = true, count = true, step = true }
local harmless = { stop = true, restart = true, setpause = true, setstepmul = true }
function real.collectgarbage(what, by)
  what = what or 'collect'
  if allowed[what] then return collectgarbage(what, by) end
  if harmless[what] then return 0 end
  error("bad argument #1 to 'collectgarbage' (invalid option '" .. tostring(what) .. "')", 2)
end

-- Patterns run in our matcher, which can be stopped; what calls back into the script does so from here.
local next_match, every_match, splice, gsub = strings.next_match, strings.every_match, strings.splice, strings.gsub
local lib = real.string
lib.find, lib.match, lib.rep = strings.find, strings.match, strings.rep

function lib.gmatch(text, pattern)
  for index, value in next, { text or false, pattern or false } do
    if type(value) ~= 'string' and type(value) ~= 'number' then
      local got = value and type(value) or 'no value'
      error('bad argument #' .. index .. " to 'gmatch' (string expected, got " .. got .. ')', 2)
    end
  end
  local at = 0
  local function take(to, ...)
    at = to or 1e15
    return ...
  end
  return function() return take(next_match(text, pattern, at)) end
end
lib.gfind = lib.gmatch

function lib.gsub(text, pattern, with, most)
  local kind = type(with)
  if kind ~= 'function' and kind ~= 'table' then return gsub(text, pattern, with, most) end
  local spans, found, count = every_match(text, pattern, nil, most)
  local values = {}
  for i = 1, count do
    local match, value = found[i], nil
    if kind == 'table' then
      if type(match) == 'table' then match = match[1] end
      value = with[match]
    elseif type(match) == 'table' then
      value = with(unpack(match))
    else
      value = with(match)
    end
    if not value then
      value = false
    elseif type(value) ~= 'string' and type(value) ~= 'number' then
      error('invalid replacement value (a ' .. type(value) .. ')', 2)
    end
    values[i] = value
  end
  return splice(text, spans, values, count), count
end

-- The tables are complete: put them behind fronts.
setmetatable(real, { __index = missing })
getmetatable('').__metatable = (protect({ __index = protect(real.string) }))
for name, value in next, real do
  if type(value) == 'table' and value ~= real then real[name] = (protect(value)) end
end
local globals, meta = protect(real, (protect({ __index = missing })))
real._G = globals

-- While a library loads it sees nothing but its own small `redis`.
if bare then
  setmetatable(bare.redis, { __index = missing })
  bare.redis = (protect(bare.redis, (protect({ __index = missing }))))
  setmetatable(bare, { __index = missing })
end

-- Runs the body of a library; `arm` puts the memory limit in force.
local function load(f)
  meta.__index = bare
  arm()
  local ok, value = plain_pcall(f)
  meta.__index = real
  if not ok and type(value) == 'userdata' then value = unwrap(value) end
  return ok, value
end

return globals, load
