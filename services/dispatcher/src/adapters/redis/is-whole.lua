return redis.call('EXISTS', whole)
