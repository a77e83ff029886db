output "data_key_arn" {
  value = aws_kms_key.data.arn
}

output "audit_key_arn" {
  value = aws_kms_key.audit.arn
}

output "secret_arns" {
  description = "By the secret's name."
  value       = { for name, secret in aws_secretsmanager_secret.service : name => secret.arn }
}
