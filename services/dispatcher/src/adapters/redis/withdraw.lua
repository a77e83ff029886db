-- ARGV: server
withdraw(ARGV[1])
return 1
