-- ARGV: pool
local free = 0
for _, server in ipairs(redis.call('ZRANGEBYSCORE', load_key(ARGV[1]), '-inf', '(1')) do
  free = free + tonumber(redis.call('HGET', capacities, server) or '0') - tonumber(redis.call('HGET', counts, server) or '0')
end
return free
