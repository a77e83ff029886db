-- ARGV: milliseconds until expiry, number of wishes, five for each (class, operation, random number below 1, mirror key
-- or '', pinned server or ''), excluded servers... Answers a server for each wish, or '!full', '!empty'. Wishes that
-- any server of a class can grant end with the first that finds no room: those behind it would find none either.
local ttl, wishes = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = now_ms()
expire(now)

local excluded, exclusions = {}, 0
for index = 3 + 5 * wishes, #ARGV do
  excluded[ARGV[index]] = true
  exclusions = exclusions + 1
end
-- Of the class whose wish is looked at.
local load, pack
local function look_at(class)
  know(class)
  load = load_key(class)
  pack = redis.call('SISMEMBER', packed, pool_of(class)) == 1
end
-- Servers that are looked at for what they have at hand: more would cost more than it finds.
local sample = 16

-- At most as many as are excluded can stand before the first candidate.
local function first_candidate()
  local found
  if pack then found = redis.call('ZREVRANGEBYSCORE', load, '(1', '-inf', 'LIMIT', 0, exclusions + 1)
  else found = redis.call('ZRANGEBYSCORE', load, '-inf', '(1', 'LIMIT', 0, exclusions + 1) end
  for _, server in ipairs(found) do
    if not excluded[server] then return server end
  end
  return nil
end

-- A copy of the repository saves more than a sandbox that is booted already.
local function at_hand(candidates, mirror)
  local ready = redis.call('HMGET', warm, unpack(candidates))
  local copies = mirror ~= '' and redis.call('HMGET', mirrors, unpack(candidates)) or {}
  local best, most = nil, -1
  for index, server in ipairs(candidates) do
    if not excluded[server] then
      local points = tonumber(ready[index] or '0') > 0 and 1 or 0
      if copies[index] and string.find(copies[index], '|' .. mirror .. '|', 1, true) then points = points + 2 end
      if points > most then best, most = server, points end
    end
  end
  return best
end

local function choose(random, mirror)
  local first = first_candidate()
  if not first then return nil end
  -- Among equals from a random place on: a fleet of equals must not all fall on the first in the alphabet.
  local score = redis.call('ZSCORE', load, first)
  local from = redis.call('ZCOUNT', load, '-inf', '(' .. score)
  local equals = redis.call('ZCOUNT', load, score, score)
  if equals == 1 then return first end
  local start = math.floor(random * equals)
  local candidates = redis.call('ZRANGE', load, from + start, from + math.min(equals - 1, start + sample - 1))
  if #candidates < sample and start > 0 then
    local rest = redis.call('ZRANGE', load, from, from + math.min(start, sample - #candidates) - 1)
    for _, server in ipairs(rest) do candidates[#candidates + 1] = server end
  end
  return at_hand(candidates, mirror) or first
end

local function grant(operation, random, mirror, pinned)
  local before = redis.call('HGET', operations, operation)
  if before then return before end
  if pinned ~= '' then
    if not redis.call('HGET', pools, pinned) then return '!empty' end
    if excluded[pinned] or number_of(counts, pinned) >= number_of(capacities, pinned) then return '!full' end
    return take(operation, pinned, now + ttl)
  end
  local server = choose(random, mirror)
  if server then return take(operation, server, now + ttl) end
  return redis.call('ZCARD', load) == 0 and '!empty' or '!full'
end

local answers, over, seen = {}, {}, nil
for wish = 1, wishes do
  local at = 5 * wish - 2
  local class, pinned = ARGV[at], ARGV[at + 4]
  local answer = over[class]
  if not answer then
    if class ~= seen then look_at(class) end
    seen = class
    answer = grant(ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], pinned)
    if pinned == '' and string.sub(answer, 1, 1) == '!' then over[class] = answer end
  end
  answers[wish] = answer
end
return answers
