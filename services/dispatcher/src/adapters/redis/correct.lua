-- ARGV: server, pool, capacity, sessions that occupy the server...
local server, pool, capacity = ARGV[1], ARGV[2], tonumber(ARGV[3])
expire(now_ms())

local settled = {}
for index = 4, #ARGV do settled[ARGV[index]] = true end
local unsettled = 0
for _, operation in ipairs(redis.call('SMEMBERS', held_key(server))) do
  local session = string.match(operation, '^(.-)%-g%d+%-%d+$')
  if session and settled[session] then forget(operation, server) else unsettled = unsettled + 1 end
end

local former = redis.call('HGET', pools, server)
if former and former ~= pool then redis.call('ZREM', load_key(former), server) end
redis.call('HSET', counts, server, #ARGV - 3 + unsettled)
redis.call('HSET', capacities, server, capacity)
redis.call('HSET', pools, server, pool)
rescore(server)
return 1
