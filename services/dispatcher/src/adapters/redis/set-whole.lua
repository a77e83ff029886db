redis.call('SET', whole, '1')
return 1
