# Two keys, so that whoever may read session data can be kept from the audit log's signing key, and the other way round.

data "aws_caller_identity" "here" {}

data "aws_iam_policy_document" "key" {
  # Without the account as administrator a key whose roles are gone can never be used or deleted again.
  statement {
    sid       = "AccountAdministersThroughIam"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${data.aws_caller_identity.here.account_id}:root"]
    }
  }

  statement {
    sid       = "LogsEncrypt"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }

    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:aws:logs:${var.region}:${data.aws_caller_identity.here.account_id}:log-group:/lemniscate/${var.name}/*"]
    }
  }
}

resource "aws_kms_key" "data" {
  description             = "${var.name}: sessions, diffs, snapshots, database, queue"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "data" {
  name          = "alias/${var.name}-data"
  target_key_id = aws_kms_key.data.key_id
}

resource "aws_kms_key" "audit" {
  description             = "${var.name}: sealed segments and the log's signing key"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "audit" {
  name          = "alias/${var.name}-audit"
  target_key_id = aws_kms_key.audit.key_id
}

# Values are put in by hand or by the organisation's own tool: none of them is ever in a state file.
resource "aws_secretsmanager_secret" "service" {
  for_each                = toset(var.secrets)
  name                    = "${var.name}/${each.key}"
  kms_key_id              = startswith(each.key, "audit-") ? aws_kms_key.audit.arn : aws_kms_key.data.arn
  recovery_window_in_days = 30
}
