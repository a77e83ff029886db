-- ARGV: class
know(ARGV[1])
local free = 0
for _, server in ipairs(redis.call('ZRANGEBYSCORE', load_key(ARGV[1]), '-inf', '(1')) do
  free = free + number_of(capacities, server) - number_of(counts, server)
end
return free
