variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "region" {
  description = "Region of the keys."
  type        = string
}

variable "secrets" {
  description = "Names of the secrets that the services read; those of the audit log begin with audit-."
  type        = list(string)
  default = [
    "database-url",
    "redis-url",
    "provider-keys",
    "dispatcher-certificate",
    "audit-files",
    "agent-join-token",
  ]
}
