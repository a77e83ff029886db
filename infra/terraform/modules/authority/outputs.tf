output "authority_arn" {
  value = aws_acmpca_certificate_authority.fleet.arn
}

output "root_certificate" {
  value = aws_acmpca_certificate.root.certificate
}
