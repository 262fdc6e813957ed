-- What a parent knows of its children lives as long as its own data.
local function close_flow(id, status)
  local key = ns .. 'x:flow:' .. id
  if status == 'gone' or (retention == '0' and status ~= 'dead') then
    redis.call('DEL', key)
  elseif status ~= 'dead' and retention ~= '-1' then
    redis.call('EXPIRE', key, retention)
  end
end
