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

variable "public_subnet_ids" {
  type = list(string)
}

variable "private_subnet_ids" {
  type = list(string)
}

variable "people_internal" {
  description = "Whether people come through the organisation's own network only."
  type        = bool
  default     = true
}

variable "people_cidrs" {
  description = "Networks from which people and programs come."
  type        = list(string)
}

variable "certificate_arn" {
  description = "Certificate of the public name, in ACM."
  type        = string
}

variable "public_url" {
  description = "Where people reach the fleet."
  type        = string
}

variable "oidc_issuer" {
  type = string
}

variable "oidc_client_id" {
  type = string
}

variable "image" {
  description = "Repository of the dispatcher's image, without a tag."
  type        = string
}

variable "image_digest" {
  description = "Digest of the image; a tag can be moved."
  type        = string
}

variable "repository_arn" {
  description = "The repository in ECR."
  type        = string
}

variable "architecture" {
  description = "X86_64 or ARM64."
  type        = string
  default     = "ARM64"
}

variable "dispatchers" {
  description = "Dispatchers; all are active together."
  type        = number
  default     = 3
}

variable "cpu" {
  description = "Units of 1/1024 processor a dispatcher."
  type        = number
  default     = 2048
}

variable "memory_mib" {
  type    = number
  default = 4096
}

variable "sessions_bucket" {
  type = object({ arn = string, name = string })
}

variable "secret_arns" {
  type = map(string)
}

variable "data_key_arn" {
  type = string
}

variable "agent_servers" {
  description = "Agent servers that do not join by themselves."
  type        = list(string)
  default     = []
}

variable "access_log_bucket" {
  description = "Bucket of the balancer's access log; empty for none."
  type        = string
  default     = ""
}

variable "log_days" {
  type    = number
  default = 90
}
