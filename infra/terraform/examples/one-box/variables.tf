variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "instance_type" {
  type    = string
  default = "m7i.2xlarge"
}

variable "release" {
  description = "Archive of a release."
  type        = object({ url = string, sha256 = string })
}
