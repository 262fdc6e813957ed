-- The result of a job that a script ends as failed.
local function failure_result(name, message)
  return '{"success":false,"error":{"message":' .. cjson.encode(message) .. ',"name":"' .. name ..
    '"},"completedAt":' .. now .. ',"processingTime":0}'
end
