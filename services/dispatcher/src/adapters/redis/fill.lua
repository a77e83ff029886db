-- ARGV: server. It said that it is full: nobody is sent there until its next word.
redis.call('HSET', counts, ARGV[1], redis.call('HGET', capacities, ARGV[1]) or '0')
rescore(ARGV[1])
return 1
