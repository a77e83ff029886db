output "group_name" {
  value = aws_autoscaling_group.agent.name
}

output "security_group_id" {
  value = aws_security_group.agent.id
}
