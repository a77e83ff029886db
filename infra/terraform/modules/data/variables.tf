variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "vpc_id" {
  type = string
}

variable "data_subnet_ids" {
  description = "Subnets without a route out."
  type        = list(string)
}

variable "service_security_group_ids" {
  description = "Groups that reach PostgreSQL, by what they are."
  type        = map(string)
}

variable "queue_security_group_ids" {
  description = "Groups that reach Redis, by what they are."
  type        = map(string)
}

variable "data_key_arn" {
  type = string
}

variable "audit_key_arn" {
  type = string
}

variable "postgres_class" {
  description = "Instance class; docs/operations/capacity.md says what size carries."
  type        = string
  default     = "db.m7g.large"
}

variable "postgres_storage_gib" {
  type    = number
  default = 100
}

variable "redis_class" {
  type    = string
  default = "cache.m7g.large"
}

variable "redis_replicas" {
  type    = number
  default = 1

  validation {
    condition     = var.redis_replicas >= 1
    error_message = "Redis needs a replica to fail over to."
  }
}
