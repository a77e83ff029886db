-- KEYS: the holders of a provider's places by when they are forgotten, its bucket of tokens, those who wait by when they
-- first asked, and the same by when they last asked.
-- ARGV: holder, places ('' for any number), tokens a minute ('' for any number), tokens asked for, milliseconds until a
-- holder is forgotten, milliseconds until one who waits and asks no more is passed over. Answers 1 where the holder has a
-- place, as before or from now on, and 0 where there is no room.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder, places, per_minute = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local hold_ms, pass_ms = tonumber(ARGV[5]), tonumber(ARGV[6])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], holder) then return 1 end

-- Whoever asks waits in the order of asking: each gateway asks for the first of its own line, so they take turns.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now - pass_ms)) do
  redis.call('ZREM', KEYS[3], gone)
  redis.call('ZREM', KEYS[4], gone)
end
redis.call('ZADD', KEYS[3], 'NX', now, holder)
redis.call('ZADD', KEYS[4], now, holder)
redis.call('PEXPIRE', KEYS[3], 2 * pass_ms)
redis.call('PEXPIRE', KEYS[4], 2 * pass_ms)
local ahead = redis.call('ZRANK', KEYS[3], holder)
if places and redis.call('ZCARD', KEYS[1]) + ahead >= places then return 0 end

if per_minute then
  if ahead > 0 then return 0 end
  local kept = redis.call('HMGET', KEYS[2], 'level', 'at')
  local level = tonumber(kept[1]) or per_minute
  level = math.min(per_minute, level + (now - (tonumber(kept[2]) or now)) / 60000 * per_minute)
  -- A request larger than the bucket takes it whole.
  local needed = math.min(tonumber(ARGV[4]), per_minute)
  local enough = level >= needed
  if enough then level = level - needed end
  redis.call('HSET', KEYS[2], 'level', string.format('%.3f', level), 'at', now)
  redis.call('PEXPIRE', KEYS[2], 180000)
  if not enough then return 0 end
end

redis.call('ZREM', KEYS[3], holder)
redis.call('ZREM', KEYS[4], holder)
redis.call('ZADD', KEYS[1], now + hold_ms, holder)
redis.call('PEXPIRE', KEYS[1], 2 * hold_ms)
return 1
