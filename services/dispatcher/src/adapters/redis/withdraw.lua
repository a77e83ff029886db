-- ARGV: server
local pool = redis.call('HGET', pools, ARGV[1])
if pool then redis.call('ZREM', load_key(pool), ARGV[1]) end
redis.call('HDEL', pools, ARGV[1])
return 1
