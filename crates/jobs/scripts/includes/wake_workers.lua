-- Tells idle workers that a job of this type waits.
local function wake_workers(kind)
  redis.call('PUBLISH', ns .. 'x:wake', kind)
end
