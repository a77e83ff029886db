-- KEYS: the holders of a provider's places. ARGV: milliseconds until they are forgotten, then the holders.
local time = redis.call('TIME')
local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
for index = 2, #ARGV do redis.call('ZADD', KEYS[1], until_ms, ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[1]))
return #ARGV - 1
