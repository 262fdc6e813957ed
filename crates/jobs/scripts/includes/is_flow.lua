-- Whether a job belongs to a flow; and whether others in it are its children.
local function is_flow(job)
  return type(job.x) == 'table' and type(job.x.flow) == 'string'
end
local function is_flow_parent(job)
  return is_flow(job) and type(job.dependsOn) == 'table' and #job.dependsOn > 0
end
