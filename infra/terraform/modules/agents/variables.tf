variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "pool" {
  description = "Name of the pool."
  type        = string
}

variable "region" {
  type = string
}

variable "account_id" {
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

variable "dispatcher_security_group_id" {
  type = string
}

variable "dispatcher_url" {
  description = "Internal address of the dispatchers: the balancer that passes TLS on."
  type        = string
}

variable "public_url" {
  description = "Address of the API, where a new server hands in its invitation."
  type        = string
}

variable "isolation" {
  description = "gvisor, kata or runc."
  type        = string
  default     = "gvisor"
}

variable "instance_type" {
  type    = string
  default = "m7g.4xlarge"
}

variable "nested_virtualisation" {
  description = "Whether the instance type has KVM without being metal."
  type        = bool
  default     = false
}

variable "architecture" {
  description = "X86_64 or ARM64."
  type        = string
  default     = "ARM64"
}

variable "image_id" {
  description = "An image of your own; empty for the latest Debian 12."
  type        = string
  default     = ""
}

variable "slots_per_server" {
  description = "Sessions on one server at once."
  type        = number
  default     = 16
}

variable "min_servers" {
  type    = number
  default = 2
}

variable "max_servers" {
  type    = number
  default = 20
}

variable "disk_gib" {
  type    = number
  default = 300
}

variable "join_token_secret_arn" {
  description = "A service token with the role operator, with which new servers are invited."
  type        = string
}

variable "data_key_arn" {
  type = string
}

variable "release_url" {
  description = "Archive of a release."
  type        = string
}

variable "release_sha256" {
  description = "Digest of that archive."
  type        = string
}

variable "log_days" {
  type    = number
  default = 90
}
