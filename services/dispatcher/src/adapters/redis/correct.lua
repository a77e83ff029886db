-- ARGV: server, pool, capacity, number of sessions that occupy the server, those sessions..., sessions that left it...
local server, pool, capacity, occupied = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
expire(now_ms())

-- A reservation whose session has come, or has come and gone, is counted by that session or not at all.
local settled = {}
for index = 5, #ARGV do settled[ARGV[index]] = true end
local unsettled = 0
for _, operation in ipairs(redis.call('SMEMBERS', held_key(server))) do
  local session = string.match(operation, '^(.-)%-g%d+%-%d+$')
  if session and settled[session] then forget(operation, server) else unsettled = unsettled + 1 end
end

local former = redis.call('HGET', pools, server)
if former and former ~= pool then redis.call('ZREM', load_key(former), server) end
redis.call('HSET', counts, server, occupied + unsettled)
redis.call('HSET', capacities, server, capacity)
redis.call('HSET', pools, server, pool)
rescore(server)
return 1
