output "postgres_address" {
  value = aws_db_instance.postgres.address
}

output "postgres_secret_arn" {
  value = aws_db_instance.postgres.master_user_secret[0].secret_arn
}

output "postgres_id" {
  value = aws_db_instance.postgres.identifier
}

output "redis_address" {
  value = aws_elasticache_replication_group.redis.primary_endpoint_address
}

output "redis_id" {
  value = aws_elasticache_replication_group.redis.id
}

output "buckets" {
  description = "ARN and name of the buckets sessions and audit."
  value       = { for name, bucket in aws_s3_bucket.store : name => { arn = bucket.arn, name = bucket.id } }
}
