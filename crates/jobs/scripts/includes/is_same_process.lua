-- Whether a worker's entry in the registry is of this process, or of none that can be told.
local function is_same_process(text, pid, hostname)
  local fine, other = pcall(cjson.decode, text or '')
  return not fine or type(other) ~= 'table'
    or (tostring(other.pid) == pid and tostring(other.hostname) == hostname)
end
