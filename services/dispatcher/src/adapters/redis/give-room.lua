-- KEYS: as take-room. ARGV: holder, tokens a minute ('' for any number), tokens that it used beyond those it took: below
-- nothing where it used less. Gives its place back, or its turn, and puts the bucket right.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder, per_minute, over = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREM', KEYS[1], holder)
redis.call('ZREM', KEYS[3], holder)
redis.call('ZREM', KEYS[4], holder)
if not per_minute or over == 0 then return 0 end

local kept = redis.call('HMGET', KEYS[2], 'level', 'at')
local level = tonumber(kept[1]) or per_minute
level = math.min(per_minute, level + (now - (tonumber(kept[2]) or now)) / 60000 * per_minute)
-- A debt of more than a minute would keep everybody out for the sake of one.
level = math.max(-per_minute, math.min(per_minute, level - over))
redis.call('HSET', KEYS[2], 'level', string.format('%.3f', level), 'at', now)
redis.call('PEXPIRE', KEYS[2], 180000)
return 1
