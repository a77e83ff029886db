-- ARGV: operation, pool, pinned server or '', milliseconds until expiry, random number below 1, excluded servers...
local operation, pool, pinned, ttl, random = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local now = now_ms()
expire(now)

local before = redis.call('HGET', operations, operation)
if before then return { 'reserved', before } end

local function take(server)
  redis.call('HINCRBY', counts, server, 1)
  redis.call('HSET', operations, operation, server)
  redis.call('ZADD', expiries, now + ttl, operation)
  redis.call('SADD', held_key(server), operation)
  rescore(server)
  return { 'reserved', server }
end

local function has_room(server)
  return tonumber(redis.call('HGET', counts, server) or '0') < tonumber(redis.call('HGET', capacities, server) or '0')
end

local excluded = {}
for index = 6, #ARGV do excluded[ARGV[index]] = true end

if pinned ~= '' then
  if not redis.call('HGET', pools, pinned) then return { 'empty' } end
  if excluded[pinned] or not has_room(pinned) then return { 'full' } end
  return take(pinned)
end

local load = load_key(pool)
local size = redis.call('ZCARD', load)
if size == 0 then return { 'empty' } end
-- At most as many as are excluded can stand before the first candidate.
local first
for _, server in ipairs(redis.call('ZRANGE', load, 0, #ARGV - 5)) do
  if not excluded[server] then first = server break end
end
if not first or not has_room(first) then return { 'full' } end
-- Among equals at random: two dispatchers and a fleet of equals must not all fall on the first in the alphabet.
local score = redis.call('ZSCORE', load, first)
local from = redis.call('ZCOUNT', load, '-inf', '(' .. score)
local equals = redis.call('ZCOUNT', load, score, score)
local start = math.floor(random * equals)
for step = 0, math.min(equals, #ARGV) do
  local server = redis.call('ZRANGE', load, from + (start + step) % equals, from + (start + step) % equals)[1]
  if not excluded[server] then return take(server) end
end
return take(first)
