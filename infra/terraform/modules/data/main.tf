# PostgreSQL is the record, Redis can be rebuilt, S3 holds what is large. Only the services' groups reach them.

resource "aws_security_group" "postgres" {
  name_prefix = "${var.name}-postgres-"
  description = "PostgreSQL, for the services"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "postgres" {
  for_each                     = var.service_security_group_ids
  security_group_id            = aws_security_group.postgres.id
  referenced_security_group_id = each.value
  description                  = each.key
  from_port                    = 5432
  to_port                      = 5432
  ip_protocol                  = "tcp"
}

resource "aws_db_subnet_group" "postgres" {
  name       = "${var.name}-postgres"
  subnet_ids = var.data_subnet_ids
}

resource "aws_db_parameter_group" "postgres" {
  name_prefix = "${var.name}-"
  family      = "postgres18"

  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }

  # A transaction that was answered must survive the loss of the machine.
  parameter {
    name  = "synchronous_commit"
    value = "on"
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_db_instance" "postgres" {
  identifier_prefix                   = "${var.name}-"
  engine                              = "postgres"
  engine_version                      = "18"
  instance_class                      = var.postgres_class
  allocated_storage                   = var.postgres_storage_gib
  max_allocated_storage               = var.postgres_storage_gib * 4
  storage_type                        = "gp3"
  storage_encrypted                   = true
  kms_key_id                          = var.data_key_arn
  multi_az                            = true
  db_name                             = "lemniscate"
  username                            = "lemniscate"
  manage_master_user_password         = true
  master_user_secret_kms_key_id       = var.data_key_arn
  db_subnet_group_name                = aws_db_subnet_group.postgres.name
  vpc_security_group_ids              = [aws_security_group.postgres.id]
  parameter_group_name                = aws_db_parameter_group.postgres.name
  publicly_accessible                 = false
  iam_database_authentication_enabled = true
  backup_retention_period             = 35
  copy_tags_to_snapshot               = true
  deletion_protection                 = true
  skip_final_snapshot                 = false
  final_snapshot_identifier           = "${var.name}-final"
  auto_minor_version_upgrade          = true
  performance_insights_enabled        = true
  performance_insights_kms_key_id     = var.data_key_arn
  enabled_cloudwatch_logs_exports     = ["postgresql", "upgrade"]
}

resource "aws_security_group" "redis" {
  name_prefix = "${var.name}-redis-"
  description = "Redis, for the dispatchers"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "redis" {
  for_each                     = var.queue_security_group_ids
  security_group_id            = aws_security_group.redis.id
  referenced_security_group_id = each.value
  description                  = each.key
  from_port                    = 6379
  to_port                      = 6379
  ip_protocol                  = "tcp"
}

resource "aws_elasticache_subnet_group" "redis" {
  name       = "${var.name}-redis"
  subnet_ids = var.data_subnet_ids
}

resource "aws_elasticache_parameter_group" "redis" {
  name   = "${var.name}-redis"
  family = "redis7"

  # A dispatcher refuses to start on a Redis that evicts: a queue job that is dropped silently waits for the reconciler.
  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }
}

resource "aws_elasticache_replication_group" "redis" {
  replication_group_id       = "${var.name}-redis"
  description                = "Queue jobs, reservations and wake-ups of ${var.name}"
  engine                     = "redis"
  engine_version             = "7.1"
  node_type                  = var.redis_class
  num_cache_clusters         = var.redis_replicas + 1
  automatic_failover_enabled = true
  multi_az_enabled           = true
  subnet_group_name          = aws_elasticache_subnet_group.redis.name
  parameter_group_name       = aws_elasticache_parameter_group.redis.name
  security_group_ids         = [aws_security_group.redis.id]
  at_rest_encryption_enabled = true
  kms_key_id                 = var.data_key_arn
  transit_encryption_enabled = true
  snapshot_retention_limit   = 1
  auto_minor_version_upgrade = true
}

locals {
  buckets = {
    sessions = { key = var.data_key_arn, locked = false }
    audit    = { key = var.audit_key_arn, locked = true }
  }
}

resource "aws_s3_bucket" "store" {
  for_each            = local.buckets
  bucket_prefix       = "${var.name}-${each.key}-"
  object_lock_enabled = each.value.locked
}

resource "aws_s3_bucket_public_access_block" "store" {
  for_each                = aws_s3_bucket.store
  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "store" {
  for_each = aws_s3_bucket.store
  bucket   = each.value.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_versioning" "store" {
  for_each = aws_s3_bucket.store
  bucket   = each.value.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "store" {
  for_each = local.buckets
  bucket   = aws_s3_bucket.store[each.key].id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = each.value.key
    }
  }
}

# Retention rules of each project say what goes. The bucket takes nothing that is current: by its age it cannot tell a
# bundle from an agent's memory, a skill, or what a legal hold keeps.
resource "aws_s3_bucket_lifecycle_configuration" "sessions" {
  bucket = aws_s3_bucket.store["sessions"].id

  rule {
    id     = "expire"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

# Object Lock without a default retention: the exporter locks segments, checkpoints and manifests one by one (lockDays of
# the s3 sink), and who the pseudonyms are, which an erasure takes away, not at all.
resource "aws_s3_bucket_object_lock_configuration" "audit" {
  bucket              = aws_s3_bucket.store["audit"].id
  object_lock_enabled = "Enabled"
}

data "aws_iam_policy_document" "encrypted_transport" {
  for_each = aws_s3_bucket.store

  statement {
    sid       = "RefusePlainHttp"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [each.value.arn, "${each.value.arn}/*"]

    principals {
      type        = "AWS"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "encrypted_transport" {
  for_each = aws_s3_bucket.store
  bucket   = each.value.id
  policy   = data.aws_iam_policy_document.encrypted_transport[each.key].json
}
