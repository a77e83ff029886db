variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "data_key_arn" {
  type = string
}

variable "people_arn_suffix" {
  description = "Of the balancer for people."
  type        = string
}

variable "postgres_id" {
  type = string
}

variable "redis_id" {
  type = string
}

variable "e_mail" {
  description = "Who is told."
  type        = string
}
