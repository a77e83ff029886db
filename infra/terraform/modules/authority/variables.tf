variable "name" {
  description = "Name of the fleet."
  type        = string
}

variable "organisation" {
  description = "Organisation in the certificates."
  type        = string
}
