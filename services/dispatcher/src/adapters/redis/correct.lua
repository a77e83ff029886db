-- ARGV: server, pool, capacity, tokens, warm sandboxes, mirrors, sessions that start there, how many may, number of the
-- report, number of sessions that occupy the server, '1' as part of a rebuild or '', those sessions..., sessions that left
-- it...
-- Answers 0 where everything was forgotten: one server's word does not know what is on its way to it.
local server, pool, occupied = ARGV[1], ARGV[2], tonumber(ARGV[10])
local report = tonumber(ARGV[9])
if ARGV[11] == '' and redis.call('EXISTS', whole) == 0 then return 0 end
-- It was read before what is known: a session that has come since and settled its reservation would be in no count.
if report < number_of(reports, server) then return 1 end
redis.call('HSET', reports, server, ARGV[9])
expire(now_ms())

-- A reservation whose session has come, or has come and gone, is counted by that session or not at all.
local settled = {}
for index = 12, #ARGV do settled[ARGV[index]] = true end
local unsettled = 0
for _, operation in ipairs(redis.call('SMEMBERS', held_key(server))) do
  local session = session_of(operation)
  if session and settled[session] then forget(operation, server) else unsettled = unsettled + 1 end
end

local former = redis.call('HGET', pools, server)
if former and former ~= pool then withdraw(server) end
redis.call('HSET', counts, server, occupied + unsettled)
redis.call('HSET', capacities, server, ARGV[3])
redis.call('HSET', pools, server, pool)
redis.call('HSET', tokens, server, ARGV[4])
redis.call('HSET', warm, server, math.max(0, tonumber(ARGV[5]) - unsettled))
redis.call('HSET', mirrors, server, ARGV[6])
redis.call('HSET', starting, server, ARGV[7])
redis.call('HSET', limits, server, ARGV[8])
rescore(server)
return 1
