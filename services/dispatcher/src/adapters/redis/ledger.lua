-- What reserve, release, correct and withdraw share. All keys carry one hash tag, so a cluster keeps them together.
-- Counts are integers and the score is computed anew from them: repeated steps of 1/capacity would drift.
local prefix = KEYS[1]
local operations = prefix .. ':operations' -- operation -> server
local expiries = prefix .. ':expiries'     -- operation scored by its expiry
local counts = prefix .. ':counts'         -- server -> slots taken
local capacities = prefix .. ':capacities' -- server -> slots
local pools = prefix .. ':pools'           -- server -> pool; absent: not to be chosen

local function load_key(pool) return prefix .. ':load:' .. pool end
local function held_key(server) return prefix .. ':held:' .. server end

local function rescore(server)
  local pool = redis.call('HGET', pools, server)
  if not pool then return end
  local count = tonumber(redis.call('HGET', counts, server) or '0')
  local capacity = tonumber(redis.call('HGET', capacities, server) or '0')
  if capacity <= 0 then redis.call('ZREM', load_key(pool), server) return end
  redis.call('ZADD', load_key(pool), count / capacity, server)
end

local function forget(operation, server)
  redis.call('HDEL', operations, operation)
  redis.call('ZREM', expiries, operation)
  redis.call('SREM', held_key(server), operation)
end

local function release(operation)
  local server = redis.call('HGET', operations, operation)
  if not server then return end
  forget(operation, server)
  if redis.call('HINCRBY', counts, server, -1) < 0 then redis.call('HSET', counts, server, 0) end
  rescore(server)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function expire(now)
  -- A bounded bite at a time: the rest goes with the next calls.
  for _, operation in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, 100)) do
    release(operation)
  end
end
