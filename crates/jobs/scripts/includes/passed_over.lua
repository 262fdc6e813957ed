-- The memory of stretches of the list whose jobs a claim passed over, shared by all workers. A stretch is a place, a
-- number of jobs, the first and the last of them, and their classes. A class is a type, a target and the largest limits
-- among the jobs of that kind: it describes jobs, not the moment, so every worker judges it anew. A stretch all of whose
-- classes are stopped is skipped unread. One that is not where it was is forgotten, and all are after a while.
local STRETCHES_MAX, CLASSES_MAX, YOUNG, REMEMBERED_MIN, NEAR = 24, 16, 64, 64, 128
local passed_key = ns .. 'x:passed'

-- The class of jobs of a type with these limits and this target. Names with control characters are not remembered.
local function class_of(seen, limits, aim)
  seen.classes = seen.classes or {}
  local of_limits = seen.classes[limits] or {}
  seen.classes[limits] = of_limits
  if of_limits[aim] == nil then
    local shape = (limits.most and 'c' or '') .. (limits.per_minute and (limits.sliding and 's' or 'm') or '')
    local class = { name = seen.kind .. '\31' .. aim .. '\31' .. shape, kind = seen.kind, aim = aim, limits = limits }
    of_limits[aim] = not string.find(seen.kind .. aim, '%c') and class
  end
  return of_limits[aim]
end

-- The class of all jobs that have a group: one of them can be claimed when any group has a turn.
local GROUPED = { name = '\31', kind = '', aim = '', limits = NO_LIMITS }

-- The class of a job that was decoded or has this target; nothing where more decides about it.
local function class_of_job(seen, limits, target, job, group)
  if group then return GROUPED end
  if not job then return class_of(seen, limits, target or '') end
  if type(job.x) == 'table' and type(job.x.exclude) == 'table' then return end
  local has_target = type(job.target) == 'table' and next(job.target)
  return class_of(seen, limits, has_target and cjson.encode(job.target) or '')
end

-- Whether jobs of these classes are all stopped now; then also whether that can change.
local function all_stopped(classes)
  local changes = false
  for _, class in pairs(classes) do
    local reason
    if class == GROUPED then
      reason = not open_turns().find() and LIMITED
    else
      reason = why_not(see_type(class.kind), class.limits, class.aim ~= '' and class.aim)
    end
    if not reason then return false end
    changes = changes or may_change(reason)
  end
  return true, changes
end

-- Whether a class is no more than what a stretch has of it already.
local function is_covered(classes, class)
  local known, limits = classes[class.name], class.limits
  return known and (limits.most or 0) <= (known.limits.most or 0)
    and (limits.per_minute or 0) <= (known.limits.per_minute or 0)
end

-- Adds a class to a stretch, or raises its limits there.
local function add_class(stretch, class)
  local known, limits = stretch.classes[class.name], class.limits
  if not known then
    stretch.kinds = stretch.kinds + 1
    stretch.classes[class.name] = class
  elseif not is_covered(stretch.classes, class) then
    stretch.classes[class.name] = { name = class.name, kind = class.kind, aim = class.aim, limits = {
      most = limits.most and math.max(limits.most, known.limits.most),
      per_minute = limits.per_minute and math.max(limits.per_minute, known.limits.per_minute),
      sliding = limits.sliding,
    } }
  end
end

-- Adds a job that stays at `place` to the stretches. Places are those before anything was taken out. The first ones are short: changes come at the head of the list. An
-- old stretch takes no job that could be claimed where its others cannot, as long as there is room for another stretch.
local function pass_over(stretches, id, place, seen, limits, target, job, group)
  local class = class_of_job(seen, limits, target, job, group)
  if not class or string.find(id, '%c') then return end
  local last, full = stretches[#stretches], #stretches >= STRETCHES_MAX
  if last and last.stop == place then
    local covered, size = is_covered(last.classes, class), #stretches <= 4 and 1024 or 16384
    local long = last.stop - last.start
    local fits = full or (long < size and (covered or long < YOUNG))
    if fits and (last.classes[class.name] or last.kinds < CLASSES_MAX) then
      add_class(last, class)
      last.stop, last.last = place + 1, id
      return
    end
  end
  if full then return end
  local new = { start = place, stop = place + 1, first = id, last = id, classes = {}, kinds = 0 }
  add_class(new, class)
  stretches[#stretches + 1] = new
end

-- Adds the part of a known stretch from `from` up to `to`. Short neighbours of the same classes become one. Ends that
-- are not known are false.
local function keep_part(stretches, known, from, to)
  local last = stretches[#stretches]
  local first_id, last_id = from == known.start and known.first, to == known.stop and known.last
  local joins = last and last.stop == from and (last.source == known or to - last.start <= 1024)
  for _, class in pairs(joins and known.classes or {}) do joins = joins and is_covered(last.classes, class) end
  if joins then
    last.stop, last.last = to, last_id
  elseif #stretches < STRETCHES_MAX then
    stretches[#stretches + 1] = { source = known, start = from, stop = to, first = first_id, last = last_id,
      classes = known.classes, kinds = known.kinds }
  end
end

-- A job at `place` is taken out: a stretch that ends there goes on behind it.
local function leave_out(stretches, place)
  local last = stretches[#stretches]
  if last and last.stop == place then last.stop, last.last = place + 1, false end
end
