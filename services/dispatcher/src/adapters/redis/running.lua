-- ARGV: server, session. It starts no longer, so another may; its slot stays taken until the next correction says so.
local server, session = ARGV[1], ARGV[2]
local found = false
for _, operation in ipairs(redis.call('SMEMBERS', held_key(server))) do
  if session_of(operation) == session then forget(operation, server) found = true end
end
if not found and number_of(starting, server) > 0 then redis.call('HINCRBY', starting, server, -1) end
rescore(server)
return 1
