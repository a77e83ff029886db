variable "name" {
  description = "Name of the fleet; everything carries it."
  type        = string
}

variable "region" {
  description = "Region of the VPC."
  type        = string
}

variable "cidr" {
  description = "Addresses of the VPC; a /16."
  type        = string
  default     = "10.40.0.0/16"
}

variable "zones" {
  description = "Availability zones, two to four."
  type        = number
  default     = 3

  validation {
    condition     = var.zones >= 2 && var.zones <= 4
    error_message = "A fleet spreads over two to four zones."
  }
}

variable "kms_key_arn" {
  description = "Key that encrypts the flow log."
  type        = string
}

variable "flow_log_days" {
  description = "Days that refused connections are kept."
  type        = number
  default     = 90
}
