-- ARGV: pools that fill one server after the other...
redis.call('DEL', packed)
if #ARGV > 0 then redis.call('SADD', packed, unpack(ARGV)) end
return 1
