# Three kinds of subnets: balancers are the only thing that the world reaches, services reach out through NAT, and data
# has no route out at all.

data "aws_availability_zones" "here" {
  state = "available"
}

locals {
  zones = slice(data.aws_availability_zones.here.names, 0, var.zones)
  # 20 bits of the VPC's 16: room for 4,096 addresses a subnet, so that large agent pools fit.
  public  = { for index, zone in local.zones : zone => cidrsubnet(var.cidr, 4, index) }
  private = { for index, zone in local.zones : zone => cidrsubnet(var.cidr, 4, index + 4) }
  data    = { for index, zone in local.zones : zone => cidrsubnet(var.cidr, 4, index + 8) }
}

resource "aws_vpc" "fleet" {
  cidr_block           = var.cidr
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

# The default group would let everything in it talk to everything.
resource "aws_default_security_group" "closed" {
  vpc_id = aws_vpc.fleet.id
}

resource "aws_internet_gateway" "fleet" {
  vpc_id = aws_vpc.fleet.id
  tags   = { Name = var.name }
}

resource "aws_subnet" "public" {
  for_each                = local.public
  vpc_id                  = aws_vpc.fleet.id
  availability_zone       = each.key
  cidr_block              = each.value
  map_public_ip_on_launch = false
  tags                    = { Name = "${var.name}-public-${each.key}" }
}

resource "aws_subnet" "private" {
  for_each                = local.private
  vpc_id                  = aws_vpc.fleet.id
  availability_zone       = each.key
  cidr_block              = each.value
  map_public_ip_on_launch = false
  tags                    = { Name = "${var.name}-private-${each.key}" }
}

resource "aws_subnet" "data" {
  for_each                = local.data
  vpc_id                  = aws_vpc.fleet.id
  availability_zone       = each.key
  cidr_block              = each.value
  map_public_ip_on_launch = false
  tags                    = { Name = "${var.name}-data-${each.key}" }
}

resource "aws_eip" "nat" {
  for_each = local.public
  domain   = "vpc"
  tags     = { Name = "${var.name}-nat-${each.key}" }
}

# One a zone: the loss of a zone must not cut the others off from their model providers.
resource "aws_nat_gateway" "zone" {
  for_each      = local.public
  allocation_id = aws_eip.nat[each.key].id
  subnet_id     = aws_subnet.public[each.key].id
  tags          = { Name = "${var.name}-${each.key}" }
  depends_on    = [aws_internet_gateway.fleet]
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.fleet.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.fleet.id
  }

  tags = { Name = "${var.name}-public" }
}

resource "aws_route_table_association" "public" {
  for_each       = aws_subnet.public
  subnet_id      = each.value.id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table" "private" {
  for_each = local.private
  vpc_id   = aws_vpc.fleet.id

  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.zone[each.key].id
  }

  tags = { Name = "${var.name}-private-${each.key}" }
}

resource "aws_route_table_association" "private" {
  for_each       = aws_subnet.private
  subnet_id      = each.value.id
  route_table_id = aws_route_table.private[each.key].id
}

resource "aws_route_table" "data" {
  vpc_id = aws_vpc.fleet.id
  tags   = { Name = "${var.name}-data" }
}

resource "aws_route_table_association" "data" {
  for_each       = aws_subnet.data
  subnet_id      = each.value.id
  route_table_id = aws_route_table.data.id
}

# Bundles, snapshots and sealed segments are most of the traffic; they stay off the NAT gateways.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.fleet.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [for table in aws_route_table.private : table.id]
  tags              = { Name = "${var.name}-s3" }
}

resource "aws_cloudwatch_log_group" "flows" {
  name              = "/lemniscate/${var.name}/flows"
  kms_key_id        = var.kms_key_arn
  retention_in_days = var.flow_log_days
}

data "aws_iam_policy_document" "flows_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["vpc-flow-logs.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "flows" {
  statement {
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"]
    resources = ["${aws_cloudwatch_log_group.flows.arn}:*"]
  }
}

resource "aws_iam_role" "flows" {
  name_prefix        = "${var.name}-flows-"
  assume_role_policy = data.aws_iam_policy_document.flows_trust.json
}

resource "aws_iam_role_policy" "flows" {
  name   = "write"
  role   = aws_iam_role.flows.id
  policy = data.aws_iam_policy_document.flows.json
}

resource "aws_flow_log" "fleet" {
  vpc_id          = aws_vpc.fleet.id
  traffic_type    = "REJECT"
  iam_role_arn    = aws_iam_role.flows.arn
  log_destination = aws_cloudwatch_log_group.flows.arn
}
