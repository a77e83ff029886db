variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "region" {
  type = string
}

variable "vpc_id" {
  type = string
}

variable "vpc_cidr" {
  type = string
}

variable "private_subnet_ids" {
  type = list(string)
}

variable "cluster_arn" {
  description = "Cluster of the control plane."
  type        = string
}

variable "image" {
  description = "Repository of the exporter's image, without a tag."
  type        = string
}

variable "image_digest" {
  type = string
}

variable "repository_arn" {
  type = string
}

variable "architecture" {
  type    = string
  default = "ARM64"
}

variable "audit_bucket" {
  type = object({ arn = string, name = string })
}

variable "secret_arns" {
  type = map(string)
}

variable "audit_key_arn" {
  type = string
}

variable "data_key_arn" {
  type = string
}

variable "sink_ports" {
  description = "Receivers of the audit log: where and on which port, by what they are."
  type        = map(object({ cidr = string, port = number }))
}

variable "log_days" {
  type    = number
  default = 365
}
