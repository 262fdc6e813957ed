-- Drops how far an attempt came, unless it left a checkpoint from which the next one can go on.
local function drop_progress(id)
  local progress = redis.pcall('GET', ns .. 'jobs:progress:' .. id)
  if type(progress) == 'string' and not string.find(progress, '"data":', 1, true) then
    redis.call('DEL', ns .. 'jobs:progress:' .. id)
  end
end
