# The audit exporter: orders and seals the log and ships it. It may write sealed segments and never delete one.

locals {
  image = "${var.image}@${var.image_digest}"
}

resource "aws_cloudwatch_log_group" "exporter" {
  name              = "/lemniscate/${var.name}/exporter"
  kms_key_id        = var.audit_key_arn
  retention_in_days = var.log_days
}

resource "aws_security_group" "exporter" {
  name_prefix = "${var.name}-exporter-"
  description = "Audit exporters"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_egress_rule" "postgres" {
  security_group_id = aws_security_group.exporter.id
  cidr_ipv4         = var.vpc_cidr
  description       = "PostgreSQL"
  from_port         = 5432
  to_port           = 5432
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_egress_rule" "sinks" {
  for_each          = var.sink_ports
  security_group_id = aws_security_group.exporter.id
  cidr_ipv4         = each.value.cidr
  description       = each.key
  from_port         = each.value.port
  to_port           = each.value.port
  ip_protocol       = "tcp"
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "start" {
  statement {
    sid       = "Secrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = values(var.secret_arns)
  }

  statement {
    sid       = "DecryptSecrets"
    actions   = ["kms:Decrypt"]
    resources = [var.audit_key_arn, var.data_key_arn]
  }

  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.exporter.arn}:*"]
  }

  statement {
    sid       = "Image"
    actions   = ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchCheckLayerAvailability"]
    resources = [var.repository_arn]
  }

  # This action has no resource; it answers a token that is good for the repositories above.
  statement {
    sid       = "ImageToken"
    actions   = ["ecr:GetAuthorizationToken"]
    resources = ["*"]
  }
}

resource "aws_iam_role" "start" {
  name_prefix        = "${var.name}-exporter-start-"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "start" {
  name   = "start"
  role   = aws_iam_role.start.id
  policy = data.aws_iam_policy_document.start.json
}

data "aws_iam_policy_document" "seal" {
  statement {
    sid       = "WriteSegments"
    actions   = ["s3:PutObject", "s3:PutObjectRetention", "s3:GetObject"]
    resources = ["${var.audit_bucket.arn}/*"]
  }

  # Who the pseudonyms are is no part of the log: an erasure takes every version of it.
  statement {
    sid       = "ForgetPeople"
    actions   = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
    resources = ["${var.audit_bucket.arn}/*/people/*"]
  }

  statement {
    sid       = "Lock"
    actions   = ["s3:GetBucketObjectLockConfiguration"]
    resources = [var.audit_bucket.arn]
  }

  statement {
    sid       = "List"
    actions   = ["s3:ListBucket", "s3:ListBucketVersions"]
    resources = [var.audit_bucket.arn]
  }

  statement {
    sid       = "Encrypt"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [var.audit_key_arn]
  }
}

resource "aws_iam_role" "exporter" {
  name_prefix        = "${var.name}-exporter-"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "exporter" {
  name   = "seal"
  role   = aws_iam_role.exporter.id
  policy = data.aws_iam_policy_document.seal.json
}

resource "aws_ecs_task_definition" "exporter" {
  family                   = "${var.name}-exporter"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 1024
  memory                   = 2048
  execution_role_arn       = aws_iam_role.start.arn
  task_role_arn            = aws_iam_role.exporter.arn

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = var.architecture
  }

  volume {
    name = "files"
  }

  # What was signed last. A new task remembers nothing and asks the bucket which checkpoint came last.
  volume {
    name = "memory"
  }

  container_definitions = jsonencode([
    {
      # Signing key and sinks come as one JSON secret and become files that only the service reads.
      name        = "files"
      image       = local.image
      essential   = false
      user        = "10001:10001"
      command     = ["node", "/app/infra/images/write-files.mjs", "/run/lemniscate"]
      secrets     = [{ name = "FILES", valueFrom = var.secret_arns["audit-files"] }]
      mountPoints = [{ sourceVolume = "files", containerPath = "/run/lemniscate" }]
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.exporter.name
          awslogs-region        = var.region
          awslogs-stream-prefix = "files"
        }
      }
    },
    {
      name                   = "exporter"
      image                  = local.image
      essential              = true
      user                   = "10001:10001"
      readonlyRootFilesystem = true
      stopTimeout            = 60
      linuxParameters        = { capabilities = { drop = ["ALL"] } }
      dependsOn              = [{ containerName = "files", condition = "SUCCESS" }]
      mountPoints = [
        { sourceVolume = "files", containerPath = "/run/lemniscate", readOnly = true },
        { sourceVolume = "memory", containerPath = "/var/lib/lemniscate" },
      ]
      environment = [
        { name = "AWS_REGION", value = var.region },
        { name = "LEMNISCATE_LOG_KEY", value = "/run/lemniscate/log-key.pem" },
        { name = "LEMNISCATE_LOG_MEMORY", value = "/var/lib/lemniscate" },
        { name = "LEMNISCATE_SINKS", value = "/run/lemniscate/sinks.yaml" },
      ]
      secrets = [
        { name = "DATABASE_URL", valueFrom = var.secret_arns["database-url"] },
      ]
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.exporter.name
          awslogs-region        = var.region
          awslogs-stream-prefix = "exporter"
        }
      }
    },
  ])
}

# Two, in two zones: one seals under the advisory lock, the other takes over within seconds.
resource "aws_ecs_service" "exporter" {
  name                   = "exporter"
  cluster                = var.cluster_arn
  task_definition        = aws_ecs_task_definition.exporter.arn
  desired_count          = 2
  launch_type            = "FARGATE"
  enable_execute_command = false

  network_configuration {
    subnets          = var.private_subnet_ids
    security_groups  = [aws_security_group.exporter.id]
    assign_public_ip = false
  }
}
