# Dispatchers. People reach them through an application balancer that ends TLS; agent servers through a network balancer
# that passes TLS on, so that mutual TLS ends in the dispatcher and nowhere before.

locals {
  image = "${var.image}@${var.image_digest}"
  environment = {
    LEMNISCATE_HOST          = "0.0.0.0"
    LEMNISCATE_PORT          = "7420"
    LEMNISCATE_INTERNAL_HOST = "0.0.0.0"
    LEMNISCATE_INTERNAL_PORT = "7421"
    LEMNISCATE_PUBLIC_URL    = var.public_url
    # the balancer says whom a request comes from; without it everybody would share one count of failed logins
    LEMNISCATE_TRUSTED_PROXIES = var.vpc_cidr
    LEMNISCATE_OIDC_ISSUER     = var.oidc_issuer
    LEMNISCATE_OIDC_CLIENT_ID  = var.oidc_client_id
    LEMNISCATE_TLS_CA          = "/run/lemniscate/ca.pem"
    LEMNISCATE_TLS_CERT        = "/run/lemniscate/certificate.pem"
    LEMNISCATE_TLS_KEY         = "/run/lemniscate/key.pem"
    S3_ENDPOINT                = "https://s3.${var.region}.amazonaws.com"
    S3_BUCKET                  = var.sessions_bucket.name
    AWS_REGION                 = var.region
    AGENT_SERVERS              = join(",", var.agent_servers)
    # the pools' autoscaling groups follow what is printed under this name
    LEMNISCATE_CLOUDWATCH_FLEET = var.name
  }
}

resource "aws_cloudwatch_log_group" "dispatcher" {
  name              = "/lemniscate/${var.name}/dispatcher"
  kms_key_id        = var.data_key_arn
  retention_in_days = var.log_days
}

resource "aws_ecs_cluster" "control" {
  name = "${var.name}-control"

  setting {
    name  = "containerInsights"
    value = "enabled"
  }
}

resource "aws_security_group" "people" {
  name_prefix = "${var.name}-people-"
  description = "The balancer for people"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

# New agent servers hand in their invitations at the API.
resource "aws_vpc_security_group_ingress_rule" "joining" {
  security_group_id = aws_security_group.people.id
  cidr_ipv4         = var.vpc_cidr
  description       = "Joining agent servers"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_ingress_rule" "people" {
  for_each          = toset(var.people_cidrs)
  security_group_id = aws_security_group.people.id
  cidr_ipv4         = each.value
  description       = "HTTPS for people and programs"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_egress_rule" "people" {
  security_group_id            = aws_security_group.people.id
  referenced_security_group_id = aws_security_group.dispatcher.id
  description                  = "Dispatchers"
  from_port                    = 7420
  to_port                      = 7420
  ip_protocol                  = "tcp"
}

resource "aws_security_group" "servers" {
  name_prefix = "${var.name}-servers-"
  description = "The balancer for agent servers"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "servers" {
  security_group_id = aws_security_group.servers.id
  cidr_ipv4         = var.vpc_cidr
  description       = "Mutual TLS of agent servers"
  from_port         = 7421
  to_port           = 7421
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_egress_rule" "servers" {
  security_group_id            = aws_security_group.servers.id
  referenced_security_group_id = aws_security_group.dispatcher.id
  description                  = "Dispatchers"
  from_port                    = 7421
  to_port                      = 7421
  ip_protocol                  = "tcp"
}

resource "aws_security_group" "dispatcher" {
  name_prefix = "${var.name}-dispatcher-"
  description = "Dispatchers"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "dispatcher_people" {
  security_group_id            = aws_security_group.dispatcher.id
  referenced_security_group_id = aws_security_group.people.id
  description                  = "Public listener"
  from_port                    = 7420
  to_port                      = 7420
  ip_protocol                  = "tcp"
}

resource "aws_vpc_security_group_ingress_rule" "dispatcher_servers" {
  security_group_id            = aws_security_group.dispatcher.id
  referenced_security_group_id = aws_security_group.servers.id
  description                  = "Internal listener"
  from_port                    = 7421
  to_port                      = 7421
  ip_protocol                  = "tcp"
}

# Model providers are on the internet; everything else that a dispatcher speaks to is in the VPC.
resource "aws_vpc_security_group_egress_rule" "dispatcher" {
  security_group_id = aws_security_group.dispatcher.id
  cidr_ipv4         = "0.0.0.0/0"
  description       = "Model providers, issuer, AWS"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_egress_rule" "dispatcher_inside" {
  for_each          = { postgres = 5432, redis = 6379, agent-servers = 7430 }
  security_group_id = aws_security_group.dispatcher.id
  cidr_ipv4         = var.vpc_cidr
  description       = each.key
  from_port         = each.value
  to_port           = each.value
  ip_protocol       = "tcp"
}

resource "aws_lb" "people" {
  name                       = "${var.name}-people"
  load_balancer_type         = "application"
  internal                   = var.people_internal
  subnets                    = var.people_internal ? var.private_subnet_ids : var.public_subnet_ids
  security_groups            = [aws_security_group.people.id]
  drop_invalid_header_fields = true
  enable_deletion_protection = true
  # An event stream has a heartbeat each 10 s.
  idle_timeout = 120

  access_logs {
    bucket  = var.access_log_bucket
    prefix  = "${var.name}-people"
    enabled = var.access_log_bucket != ""
  }
}

resource "aws_lb_target_group" "people" {
  name                 = "${var.name}-people"
  vpc_id               = var.vpc_id
  target_type          = "ip"
  port                 = 7420
  protocol             = "HTTP"
  deregistration_delay = 30

  health_check {
    path                = "/readyz"
    interval            = 10
    healthy_threshold   = 2
    unhealthy_threshold = 3
    matcher             = "200"
  }
}

resource "aws_lb_listener" "people" {
  load_balancer_arn = aws_lb.people.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.people.arn
  }
}

resource "aws_lb" "servers" {
  name                             = "${var.name}-servers"
  load_balancer_type               = "network"
  internal                         = true
  subnets                          = var.private_subnet_ids
  security_groups                  = [aws_security_group.servers.id]
  enable_cross_zone_load_balancing = true
  enable_deletion_protection       = true
}

resource "aws_lb_target_group" "servers" {
  name                 = "${var.name}-servers"
  vpc_id               = var.vpc_id
  target_type          = "ip"
  port                 = 7421
  protocol             = "TCP"
  deregistration_delay = 30

  health_check {
    protocol            = "TCP"
    interval            = 10
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_lb_listener" "servers" {
  load_balancer_arn = aws_lb.servers.arn
  port              = 7421
  protocol          = "TCP"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.servers.arn
  }
}

data "aws_iam_policy_document" "tasks_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

# What starts the task: its image, its secrets, its log.
data "aws_iam_policy_document" "start" {
  statement {
    sid       = "Secrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = values(var.secret_arns)
  }

  statement {
    sid       = "DecryptSecrets"
    actions   = ["kms:Decrypt"]
    resources = [var.data_key_arn]
  }

  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.dispatcher.arn}:*"]
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
  name_prefix        = "${var.name}-start-"
  assume_role_policy = data.aws_iam_policy_document.tasks_trust.json
}

resource "aws_iam_role_policy" "start" {
  name   = "start"
  role   = aws_iam_role.start.id
  policy = data.aws_iam_policy_document.start.json
}

# What the dispatcher itself may do: its bucket, nothing else of AWS.
data "aws_iam_policy_document" "dispatcher" {
  statement {
    sid       = "Objects"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"]
    resources = ["${var.sessions_bucket.arn}/*"]
  }

  statement {
    sid       = "List"
    actions   = ["s3:ListBucket", "s3:ListBucketVersions"]
    resources = [var.sessions_bucket.arn]
  }

  statement {
    sid       = "Encrypt"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [var.data_key_arn]
  }
}

resource "aws_iam_role" "dispatcher" {
  name_prefix        = "${var.name}-dispatcher-"
  assume_role_policy = data.aws_iam_policy_document.tasks_trust.json
}

resource "aws_iam_role_policy" "dispatcher" {
  name   = "work"
  role   = aws_iam_role.dispatcher.id
  policy = data.aws_iam_policy_document.dispatcher.json
}

resource "aws_ecs_task_definition" "dispatcher" {
  family                   = "${var.name}-dispatcher"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory_mib
  execution_role_arn       = aws_iam_role.start.arn
  task_role_arn            = aws_iam_role.dispatcher.arn

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = var.architecture
  }

  volume {
    name = "certificates"
  }

  container_definitions = jsonencode([
    {
      # Certificates come as one JSON secret and become files that only the service reads.
      name        = "certificates"
      image       = local.image
      essential   = false
      user        = "10001:10001"
      command     = ["node", "/app/infra/images/write-files.mjs", "/run/lemniscate"]
      secrets     = [{ name = "FILES", valueFrom = var.secret_arns["dispatcher-certificate"] }]
      mountPoints = [{ sourceVolume = "certificates", containerPath = "/run/lemniscate" }]
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.dispatcher.name
          awslogs-region        = var.region
          awslogs-stream-prefix = "certificates"
        }
      }
    },
    {
      name                   = "dispatcher"
      image                  = local.image
      essential              = true
      user                   = "10001:10001"
      readonlyRootFilesystem = true
      stopTimeout            = 60
      linuxParameters        = { capabilities = { drop = ["ALL"] } }
      dependsOn              = [{ containerName = "certificates", condition = "SUCCESS" }]
      mountPoints            = [{ sourceVolume = "certificates", containerPath = "/run/lemniscate", readOnly = true }]
      portMappings           = [{ containerPort = 7420 }, { containerPort = 7421 }]
      environment            = [for name, value in local.environment : { name = name, value = value } if value != ""]
      secrets = [
        { name = "DATABASE_URL", valueFrom = var.secret_arns["database-url"] },
        { name = "REDIS_URL", valueFrom = var.secret_arns["redis-url"] },
        { name = "ANTHROPIC_API_KEY", valueFrom = "${var.secret_arns["provider-keys"]}:anthropic::" },
        { name = "OPENAI_API_KEY", valueFrom = "${var.secret_arns["provider-keys"]}:openai::" },
      ]
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.dispatcher.name
          awslogs-region        = var.region
          awslogs-stream-prefix = "dispatcher"
        }
      }
    },
  ])
}

resource "aws_ecs_service" "dispatcher" {
  name                               = "dispatcher"
  cluster                            = aws_ecs_cluster.control.id
  task_definition                    = aws_ecs_task_definition.dispatcher.arn
  desired_count                      = var.dispatchers
  launch_type                        = "FARGATE"
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  health_check_grace_period_seconds  = 60
  enable_execute_command             = false

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.private_subnet_ids
    security_groups  = [aws_security_group.dispatcher.id]
    assign_public_ip = false
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.people.arn
    container_name   = "dispatcher"
    container_port   = 7420
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.servers.arn
    container_name   = "dispatcher"
    container_port   = 7421
  }
}
