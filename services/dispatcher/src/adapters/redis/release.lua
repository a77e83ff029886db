-- ARGV: operation. Releasing what is not held changes nothing.
release(ARGV[1])
return 1
