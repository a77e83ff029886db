# What AWS sees by itself. What the fleet knows (queue age, lease losses, export lag) is alerted on by Prometheus.

resource "aws_sns_topic" "pager" {
  name              = "${var.name}-pager"
  kms_master_key_id = var.data_key_arn
}

resource "aws_sns_topic_subscription" "pager" {
  topic_arn = aws_sns_topic.pager.arn
  protocol  = "email"
  endpoint  = var.e_mail
}

locals {
  alarms = {
    api-errors = {
      namespace = "AWS/ApplicationELB", metric = "HTTPCode_Target_5XX_Count", statistic = "Sum"
      threshold = 10, comparison = "GreaterThanThreshold", dimensions = { LoadBalancer = var.people_arn_suffix }
      says      = "The API answers with errors of its own. See docs/operations/failures.md."
    }
    no-dispatcher = {
      namespace = "AWS/ApplicationELB", metric = "HealthyHostCount", statistic = "Minimum"
      threshold = 1, comparison = "LessThanThreshold", dimensions = { LoadBalancer = var.people_arn_suffix }
      says      = "No dispatcher is ready. Sessions that run go on; their servers freeze when their leases end."
    }
    postgres-storage = {
      namespace = "AWS/RDS", metric = "FreeStorageSpace", statistic = "Minimum"
      threshold = 10737418240, comparison = "LessThanThreshold", dimensions = { DBInstanceIdentifier = var.postgres_id }
      says      = "PostgreSQL has less than 10 GiB left. Nothing is accepted when it is full."
    }
    postgres-cpu = {
      namespace = "AWS/RDS", metric = "CPUUtilization", statistic = "Average"
      threshold = 80, comparison = "GreaterThanThreshold", dimensions = { DBInstanceIdentifier = var.postgres_id }
      says      = "PostgreSQL is the first thing to saturate. See docs/operations/capacity.md."
    }
    redis-memory = {
      namespace = "AWS/ElastiCache", metric = "DatabaseMemoryUsagePercentage", statistic = "Maximum"
      threshold = 75, comparison = "GreaterThanThreshold", dimensions = { ReplicationGroupId = var.redis_id }
      says      = "Redis does not evict: it refuses writes when it is full, and placement stops."
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "fleet" {
  for_each            = local.alarms
  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.says
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  dimensions          = each.value.dimensions
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 60
  evaluation_periods  = 5
  treat_missing_data  = each.key == "no-dispatcher" ? "breaching" : "notBreaching"
  alarm_actions       = [aws_sns_topic.pager.arn]
  ok_actions          = [aws_sns_topic.pager.arn]
}
