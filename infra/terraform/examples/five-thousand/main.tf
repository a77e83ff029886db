terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }

  # State holds addresses and no secret; it still belongs into an encrypted bucket with locking.
  backend "s3" {
    encrypt      = true
    use_lockfile = true
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { Fleet = local.name, ManagedBy = "terraform" }
  }
}

locals {
  name = "five-thousand"

  pools = {
    default  = { isolation = "gvisor", instance_type = "m7g.16xlarge", architecture = "ARM64", slots = 64, min = 20, max = 90 }
    hardened = { isolation = "kata", instance_type = "m7i.metal-24xl", architecture = "X86_64", slots = 96, min = 2, max = 12 }
  }
}

data "aws_caller_identity" "here" {}

module "keys" {
  source = "../../modules/keys"
  name   = local.name
  region = var.region
}

module "network" {
  source      = "../../modules/network"
  name        = local.name
  region      = var.region
  zones       = 3
  kms_key_arn = module.keys.data_key_arn
}

module "authority" {
  source       = "../../modules/authority"
  name         = local.name
  organisation = local.name
}

module "data" {
  source               = "../../modules/data"
  name                 = local.name
  vpc_id               = module.network.vpc_id
  data_subnet_ids      = module.network.data_subnet_ids
  data_key_arn         = module.keys.data_key_arn
  audit_key_arn        = module.keys.audit_key_arn
  postgres_class       = "db.r7g.8xlarge"
  postgres_storage_gib = 1000
  redis_class          = "cache.r7g.2xlarge"
  redis_replicas       = 2

  service_security_group_ids = {
    dispatchers = module.control.security_group_id
    exporters   = module.exporter.security_group_id
  }

  queue_security_group_ids = {
    dispatchers = module.control.security_group_id
  }
}

module "control" {
  source             = "../../modules/control"
  name               = local.name
  region             = var.region
  vpc_id             = module.network.vpc_id
  vpc_cidr           = module.network.cidr
  public_subnet_ids  = module.network.public_subnet_ids
  private_subnet_ids = module.network.private_subnet_ids
  people_cidrs       = var.people_cidrs
  certificate_arn    = var.certificate_arn
  public_url         = var.public_url
  oidc_issuer        = var.oidc_issuer
  oidc_client_id     = var.oidc_client_id
  image              = var.images.dispatcher
  image_digest       = var.images.dispatcher_digest
  repository_arn     = var.images.dispatcher_repository
  dispatchers        = 9
  cpu                = 4096
  memory_mib         = 8192
  sessions_bucket    = module.data.buckets["sessions"]
  secret_arns        = module.keys.secret_arns
  data_key_arn       = module.keys.data_key_arn
}

module "exporter" {
  source             = "../../modules/exporter"
  name               = local.name
  region             = var.region
  vpc_id             = module.network.vpc_id
  vpc_cidr           = module.network.cidr
  private_subnet_ids = module.network.private_subnet_ids
  cluster_arn        = module.control.cluster.arn
  image              = var.images.exporter
  image_digest       = var.images.exporter_digest
  repository_arn     = var.images.exporter_repository
  audit_bucket       = module.data.buckets["audit"]
  secret_arns        = module.keys.secret_arns
  audit_key_arn      = module.keys.audit_key_arn
  data_key_arn       = module.keys.data_key_arn
  sink_ports         = var.siem
}

module "agents" {
  source   = "../../modules/agents"
  for_each = local.pools

  name                         = local.name
  pool                         = each.key
  region                       = var.region
  account_id                   = data.aws_caller_identity.here.account_id
  vpc_id                       = module.network.vpc_id
  vpc_cidr                     = module.network.cidr
  private_subnet_ids           = module.network.private_subnet_ids
  dispatcher_security_group_id = module.control.security_group_id
  dispatcher_url               = "https://${module.control.servers_dns_name}:7421"
  public_url                   = var.public_url
  isolation                    = each.value.isolation
  instance_type                = each.value.instance_type
  architecture                 = each.value.architecture
  slots_per_server             = each.value.slots
  min_servers                  = each.value.min
  max_servers                  = each.value.max
  join_token_secret_arn        = module.keys.secret_arns["agent-join-token"]
  data_key_arn                 = module.keys.data_key_arn
  release_url                  = var.release.url
  release_sha256               = var.release.sha256
}

module "alarms" {
  source            = "../../modules/alarms"
  name              = local.name
  data_key_arn      = module.keys.data_key_arn
  people_arn_suffix = module.control.people_arn_suffix
  postgres_id       = module.data.postgres_id
  redis_id          = module.data.redis_id
  e_mail            = var.pager_e_mail
}

output "people_dns_name" {
  description = "Point the public name here."
  value       = module.control.people_dns_name
}
