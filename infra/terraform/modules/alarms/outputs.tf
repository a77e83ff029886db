output "topic_arn" {
  value = aws_sns_topic.pager.arn
}
