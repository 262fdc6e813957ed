-- Whether this worker meets a job's target. `ARGV[10]` are its stack, capabilities and region; `me` is its id.
local function matches_target(target)
  if type(target) ~= 'table' then return true end
  if type(target.server) == 'string' and target.server ~= '' then return target.server == me end

  local function has(list, wanted)
    for _, one in ipairs(list) do if one == wanted then return true end end
    return false
  end

  local function shares(wanted, mine)
    for _, one in ipairs(wanted) do if has(mine, one) then return true end end
    return false
  end

  local function holds_all(wanted, mine)
    for _, one in ipairs(wanted) do if not has(mine, one) then return false end end
    return true
  end

  local function first_is_listed(wanted, mine)
    return has(wanted, mine[1])
  end

  local function meets(wanted, mine, rule)
    return type(wanted) ~= 'table' or #wanted == 0 or rule(wanted, mine)
  end

  worker_facts = worker_facts or cjson.decode(ARGV[10])
  local all = type(target.mode) == 'string' and target.mode ~= 'any'
  local first = all and first_is_listed or shares
  return meets(target.stack, worker_facts.stack, first)
    and meets(target.capabilities, worker_facts.capabilities, all and holds_all or shares)
    and meets(target.region, worker_facts.region, first)
end

-- The same for a whole job, which may also exclude workers.
local function matches_job(job)
  local exclude = type(job.x) == 'table' and job.x.exclude
  if type(exclude) == 'table' then
    for _, worker in ipairs(exclude) do if worker == me then return false end end
  end
  return matches_target(job.target)
end
