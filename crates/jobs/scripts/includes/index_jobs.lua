-- Enters new jobs into the index of lists. A key of another type there costs the list, not the step.
local function index_jobs(ids)
  for from = 1, #ids, 64 do
    local lines = table.concat(ids, '\n', from, math.min(from + 63, #ids))
    redis.pcall('XADD', ns .. 'x:index', '*', 'at', now, 'ids', lines)
  end
end
