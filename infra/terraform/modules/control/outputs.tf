output "people_dns_name" {
  value = aws_lb.people.dns_name
}

output "people_arn_suffix" {
  value = aws_lb.people.arn_suffix
}

output "servers_dns_name" {
  value = aws_lb.servers.dns_name
}

output "security_group_id" {
  value = aws_security_group.dispatcher.id
}

output "cluster" {
  value = { arn = aws_ecs_cluster.control.arn, name = aws_ecs_cluster.control.name }
}
