output "security_group_id" {
  value = aws_security_group.exporter.id
}
