terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }

  backend "s3" {
    encrypt      = true
    use_lockfile = true
  }
}

provider "aws" {
  region = var.region
}

locals {
  name = "one-box"
}

module "keys" {
  source  = "../../modules/keys"
  name    = local.name
  region  = var.region
  secrets = ["provider-keys"]
}

module "network" {
  source      = "../../modules/network"
  name        = local.name
  region      = var.region
  zones       = 2
  kms_key_arn = module.keys.data_key_arn
}

data "aws_ssm_parameter" "image" {
  name = "/aws/service/debian/release/12/latest/amd64"
}

# Nothing comes in: people reach the API through a port that Session Manager forwards.
resource "aws_security_group" "box" {
  name_prefix = "${local.name}-"
  description = "The whole fleet on one instance"
  vpc_id      = module.network.vpc_id
}

resource "aws_vpc_security_group_egress_rule" "https" {
  security_group_id = aws_security_group.box.id
  cidr_ipv4         = "0.0.0.0/0"
  description       = "Model providers, repositories, packages"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "box" {
  statement {
    sid       = "ProviderKeys"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = values(module.keys.secret_arns)
  }

  statement {
    sid       = "DecryptThem"
    actions   = ["kms:Decrypt"]
    resources = [module.keys.data_key_arn]
  }
}

resource "aws_iam_role" "box" {
  name_prefix        = "${local.name}-"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "box" {
  name   = "work"
  role   = aws_iam_role.box.id
  policy = data.aws_iam_policy_document.box.json
}

resource "aws_iam_role_policy_attachment" "session_manager" {
  role       = aws_iam_role.box.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_instance_profile" "box" {
  name_prefix = "${local.name}-"
  role        = aws_iam_role.box.name
}

resource "aws_instance" "box" {
  ami                         = data.aws_ssm_parameter.image.value
  instance_type               = var.instance_type
  subnet_id                   = module.network.private_subnet_ids[0]
  vpc_security_group_ids      = [aws_security_group.box.id]
  iam_instance_profile        = aws_iam_instance_profile.box.name
  associate_public_ip_address = false
  disable_api_termination     = true
  ebs_optimized               = true
  monitoring                  = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 200
    encrypted   = true
    kms_key_id  = module.keys.data_key_arn
  }

  user_data = templatefile("${path.module}/start.sh.tftpl", {
    region         = var.region
    secret         = module.keys.secret_arns["provider-keys"]
    release_url    = var.release.url
    release_sha256 = var.release.sha256
  })

  tags = { Name = local.name }
}

output "instance_id" {
  description = "aws ssm start-session --target ID --document-name AWS-StartPortForwardingSession --parameters portNumber=7420"
  value       = aws_instance.box.id
}
