-- ARGV: milliseconds until expiry, then two for each (operation, server). Answers 1 where the operation holds a slot of
-- that server, as it did before or from now on, and 0 where it does not.
local expiry = now_ms() + tonumber(ARGV[1])
expire(now_ms())

local function renew(operation, server)
  local holds = redis.call('HGET', operations, operation)
  if holds == server then
    redis.call('ZADD', expiries, expiry, operation)
    return 1
  end
  if holds or not redis.call('HGET', pools, server) then return 0 end
  if number_of(counts, server) >= number_of(capacities, server) then return 0 end
  take(operation, server, expiry)
  return 1
end

local answers = {}
for index = 2, #ARGV, 2 do answers[index / 2] = renew(ARGV[index], ARGV[index + 1]) end
return answers
