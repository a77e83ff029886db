-- What the ledger's scripts share. All keys carry one hash tag, so a cluster keeps them together. Counts are integers
-- and scores are computed anew from them: repeated steps of 1/capacity would drift.
local prefix = KEYS[1]
local operations = prefix .. ':operations' -- operation -> server
local expiries = prefix .. ':expiries'     -- operation scored by its expiry
local counts = prefix .. ':counts'         -- server -> slots taken
local capacities = prefix .. ':capacities' -- server -> slots
local pools = prefix .. ':pools'           -- server -> pool; absent: not to be chosen
local tokens = prefix .. ':tokens'         -- server -> what it offers, as |token|token|
local warm = prefix .. ':warm'             -- server -> warm sandboxes
local mirrors = prefix .. ':mirrors'       -- server -> repositories at hand, as |key|key|
local starting = prefix .. ':starting'     -- server -> sessions that start there, by the record
local limits = prefix .. ':limits'         -- server -> sessions that may start there at once
local reports = prefix .. ':reports'       -- server -> number of the truth that was told last
local packed = prefix .. ':packed'         -- pools that fill one server after the other
local whole = prefix .. ':whole'           -- absent: Redis has forgotten, and the record has not been asked since

local function load_key(class) return prefix .. ':load:' .. class end
local function held_key(server) return prefix .. ':held:' .. server end
-- Classes that somebody has asked for, by pool: each has its own order of servers.
local function classes_key(pool) return prefix .. ':classes:' .. pool end
local function pool_of(class) return string.match(class, '^([^;]+)') end
local function number_of(hash, server) return tonumber(redis.call('HGET', hash, server) or '0') end

local function fits(server, class)
  if not string.find(class, ';', 1, true) then return true end
  local offered = redis.call('HGET', tokens, server) or '|'
  for token in string.gmatch(class, ';([^;]+)') do
    if not string.find(offered, '|' .. token .. '|', 1, true) then return false end
  end
  return true
end

-- Below 1: room. A server on which too many start at once stands behind all the others until some of them run.
local function score_of(server)
  local capacity = number_of(capacities, server)
  if capacity <= 0 then return nil end
  local score = number_of(counts, server) / capacity
  local limit = number_of(limits, server)
  if limit > 0 and number_of(starting, server) + redis.call('SCARD', held_key(server)) >= limit then
    return 1000 + score
  end
  return score
end

local function rescore(server)
  local pool = redis.call('HGET', pools, server)
  if not pool then return end
  local score = score_of(server)
  for _, class in ipairs(redis.call('SMEMBERS', classes_key(pool))) do
    if score and fits(server, class) then redis.call('ZADD', load_key(class), score, server)
    else redis.call('ZREM', load_key(class), server) end
  end
end

-- The first wish of a class makes its order; from then on every change of a server keeps it.
local function know(class)
  local pool = pool_of(class)
  if redis.call('SADD', classes_key(pool), class) == 0 then return end
  local all = redis.call('HGETALL', pools)
  for index = 1, #all, 2 do
    if all[index + 1] == pool then rescore(all[index]) end
  end
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

local function take(operation, server, expiry)
  redis.call('HINCRBY', counts, server, 1)
  if number_of(warm, server) > 0 then redis.call('HINCRBY', warm, server, -1) end
  redis.call('HSET', operations, operation, server)
  redis.call('ZADD', expiries, expiry, operation)
  redis.call('SADD', held_key(server), operation)
  rescore(server)
  return server
end

local function withdraw(server)
  local pool = redis.call('HGET', pools, server)
  if pool then
    for _, class in ipairs(redis.call('SMEMBERS', classes_key(pool))) do
      redis.call('ZREM', load_key(class), server)
    end
  end
  redis.call('HDEL', pools, server)
end

local function session_of(operation) return string.match(operation, '^(.-)%-g%d+%-%d+$') end

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
