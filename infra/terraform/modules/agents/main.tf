# One pool of agent servers: instances of their own, on which nothing else runs. They have no credentials of AWS but what
# the join and the drain need, and those are out of a sandbox's reach: it has no network interface at all.

locals {
  runtimes = {
    # gVisor runs on ordinary instances; Kata wants KVM, which only metal instances and nested virtualisation have.
    gvisor = { oci = "runsc", metal = false }
    kata   = { oci = "kata", metal = true }
    runc   = { oci = "runc", metal = false }
  }
  runtime = local.runtimes[var.isolation]
}

data "aws_ssm_parameter" "image" {
  name = "/aws/service/debian/release/12/latest/${var.architecture == "ARM64" ? "arm64" : "amd64"}"
}

resource "aws_cloudwatch_log_group" "agent" {
  name              = "/lemniscate/${var.name}/agents/${var.pool}"
  kms_key_id        = var.data_key_arn
  retention_in_days = var.log_days
}

resource "aws_security_group" "agent" {
  name_prefix = "${var.name}-${var.pool}-"
  description = "Agent servers of pool ${var.pool}"
  vpc_id      = var.vpc_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "orders" {
  security_group_id            = aws_security_group.agent.id
  referenced_security_group_id = var.dispatcher_security_group_id
  description                  = "Orders of dispatchers"
  from_port                    = 7430
  to_port                      = 7430
  ip_protocol                  = "tcp"
}

resource "aws_vpc_security_group_egress_rule" "dispatchers" {
  security_group_id = aws_security_group.agent.id
  cidr_ipv4         = var.vpc_cidr
  description       = "Dispatchers"
  from_port         = 7421
  to_port           = 7421
  ip_protocol       = "tcp"
}

# Repositories, presigned S3 and AWS itself. The hosts that a policy names for egress are checked by the agent server.
resource "aws_vpc_security_group_egress_rule" "https" {
  security_group_id = aws_security_group.agent.id
  cidr_ipv4         = "0.0.0.0/0"
  description       = "Repositories and S3"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "agent" {
  statement {
    sid       = "JoinToken"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [var.join_token_secret_arn]
  }

  statement {
    sid       = "DecryptJoinToken"
    actions   = ["kms:Decrypt"]
    resources = [var.data_key_arn]
  }

  statement {
    sid       = "SayDrained"
    actions   = ["autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"]
    resources = ["arn:aws:autoscaling:${var.region}:${var.account_id}:autoScalingGroup:*:autoScalingGroupName/${var.name}-${var.pool}"]
  }

  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.agent.arn}:*"]
  }
}

resource "aws_iam_role" "agent" {
  name_prefix        = "${var.name}-${var.pool}-"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "agent" {
  name   = "work"
  role   = aws_iam_role.agent.id
  policy = data.aws_iam_policy_document.agent.json
}

resource "aws_iam_instance_profile" "agent" {
  name_prefix = "${var.name}-${var.pool}-"
  role        = aws_iam_role.agent.name
}

resource "aws_launch_template" "agent" {
  name_prefix            = "${var.name}-${var.pool}-"
  image_id               = var.image_id == "" ? data.aws_ssm_parameter.image.value : var.image_id
  instance_type          = var.instance_type
  update_default_version = true
  ebs_optimized          = true

  iam_instance_profile {
    arn = aws_iam_instance_profile.agent.arn
  }

  network_interfaces {
    associate_public_ip_address = false
    delete_on_termination       = true
    security_groups             = [aws_security_group.agent.id]
  }

  # One hop: what runs in a container cannot reach the instance's credentials even with a network.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.disk_gib
      iops                  = 6000
      throughput            = 500
      encrypted             = true
      kms_key_id            = var.data_key_arn
      delete_on_termination = true
    }
  }

  monitoring {
    enabled = true
  }

  user_data = base64encode(templatefile("${path.module}/start.sh.tftpl", {
    region         = var.region
    pool           = var.pool
    group          = "${var.name}-${var.pool}"
    capacity       = var.slots_per_server
    oci_runtime    = local.runtime.oci
    dispatcher_url = var.dispatcher_url
    public_url     = var.public_url
    join_secret    = var.join_token_secret_arn
    release_url    = var.release_url
    release_sha256 = var.release_sha256
    log_group      = aws_cloudwatch_log_group.agent.name
  }))

  lifecycle {
    precondition {
      condition     = !local.runtime.metal || strcontains(var.instance_type, "metal") || var.nested_virtualisation
      error_message = "Kata needs KVM: take a metal instance type, or one with nested virtualisation and say so."
    }
  }
}

resource "aws_autoscaling_group" "agent" {
  name                      = "${var.name}-${var.pool}"
  vpc_zone_identifier       = var.private_subnet_ids
  min_size                  = var.min_servers
  max_size                  = var.max_servers
  health_check_type         = "EC2"
  health_check_grace_period = 180
  # The fleet picks the emptiest server itself and drains it; the group must not take another one.
  termination_policies  = ["OldestLaunchTemplate", "NewestInstance"]
  protect_from_scale_in = true
  metrics_granularity   = "1Minute"
  enabled_metrics       = ["GroupDesiredCapacity", "GroupInServiceInstances"]

  launch_template {
    id      = aws_launch_template.agent.id
    version = "$Latest"
  }

  instance_refresh {
    strategy = "Rolling"

    preferences {
      min_healthy_percentage       = 90
      scale_in_protected_instances = "Wait"
    }
  }

  initial_lifecycle_hook {
    name                 = "drain"
    lifecycle_transition = "autoscaling:EC2_INSTANCE_TERMINATING"
    # A session may take 45 minutes; afterwards it is paused and goes on elsewhere.
    heartbeat_timeout = 3600
    default_result    = "CONTINUE"
  }

  tag {
    key                 = "Name"
    value               = "${var.name}-${var.pool}"
    propagate_at_launch = true
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

# Slots wanted over servers there, which a dispatcher prints for CloudWatch; a slot too few is a session that waits.
resource "aws_autoscaling_policy" "wanted_slots" {
  name                      = "wanted-slots"
  autoscaling_group_name    = aws_autoscaling_group.agent.name
  policy_type               = "TargetTrackingScaling"
  estimated_instance_warmup = 120

  target_tracking_configuration {
    target_value     = var.slots_per_server
    disable_scale_in = true

    customized_metric_specification {
      namespace   = "Lemniscate"
      metric_name = "WantedSlotsPerServer"
      statistic   = "Average"

      metric_dimension {
        name  = "Fleet"
        value = var.name
      }

      metric_dimension {
        name  = "Pool"
        value = var.pool
      }
    }
  }
}
