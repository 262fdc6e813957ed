-- Whether a worker can read a job to its end: JSON throughout, and nested no deeper than readers go. In the usual job
-- only the payload can be wrong. Texts beyond `LOOKED_AT` bytes are left to the worker, because reading them here would
-- keep everybody waiting.
local DEEPEST, LOOKED_AT = 127, 16384
local USUAL = '^{"jobId":"[^"\\]*","type":"[^"\\]+","payload":(%b{}),"schedule":{},"retry":{"attempts":%d+,"backoff":'
  .. '{"type":"%a+","delay":%d+}},"priority":%d+,"dependsOn":%[%],"target":{},"metadata":{},"createdAt":%d+,"attempts":%d+}$'
local function is_deeper(value, levels)
  if type(value) ~= 'table' then return false end
  if levels == 0 then return true end
  for _, part in pairs(value) do
    if is_deeper(part, levels - 1) then return true end
  end
  return false
end
local function is_readable(text)
  if #text > LOOKED_AT then return true end
  local payload = string.match(text, USUAL)
  if payload == '{}' then return true end
  local fine, value = pcall(cjson.decode, payload or text)
  if not fine then return false end
  return #(payload or text) <= 2 * DEEPEST or not is_deeper(value, payload and DEEPEST or DEEPEST + 1)
end
