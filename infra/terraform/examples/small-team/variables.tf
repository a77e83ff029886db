variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "people_cidrs" {
  description = "Networks from which people come."
  type        = list(string)
}

variable "public_url" {
  type = string
}

variable "certificate_arn" {
  type = string
}

variable "oidc_issuer" {
  type = string
}

variable "oidc_client_id" {
  type = string
}

variable "images" {
  description = "Repositories and digests of the images of one release."
  type = object({
    dispatcher            = string
    dispatcher_digest     = string
    exporter              = string
    exporter_digest       = string
    dispatcher_repository = string
    exporter_repository   = string
  })
}

variable "release" {
  description = "Archive of the release for agent servers."
  type        = object({ url = string, sha256 = string })
}

variable "siem" {
  description = "Where the audit log goes."
  type        = map(object({ cidr = string, port = number }))
}

variable "pager_e_mail" {
  type = string
}
