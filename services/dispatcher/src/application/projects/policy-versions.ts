import type { PolicyVersion } from '@lemniscate/shared/api/project.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownProject } from './project.ts';

interface VersionRow extends Record<string, unknown> {
  readonly project_id: string;
  readonly version: number;
  readonly policy_digest: string;
  readonly policy: PolicyVersion['policy'];
  readonly written: string | null;
  readonly origin: PolicyVersion['origin'];
  readonly changed_by: string;
  readonly changed_at: string;
}

const columns = 'project_id, version, policy_digest, policy, written, origin, changed_by, changed_at';

function toVersion(row: VersionRow): PolicyVersion {
  return {
    project: row.project_id,
    version: row.version,
    digest: row.policy_digest,
    policy: row.policy,
    written: row.written,
    origin: row.origin,
    changedBy: row.changed_by,
    changedAt: row.changed_at,
  };
}

/**
 * A version of a project's policy, the newest unless one is named.
 * @throws CodedError `project_unknown`, `not_found` for a version that there is not
 */
export async function readPolicyVersion(
  tx: Transaction,
  project: string,
  version: number | null,
): Promise<PolicyVersion> {
  const [row] = await tx.query<VersionRow>(
    `SELECT ${columns} FROM project_policies WHERE project_id = $1 AND ($2::int IS NULL OR version = $2)
     ORDER BY version DESC LIMIT 1`,
    [project, version],
  );
  if (row !== undefined) return toVersion(row);
  if (version === null) throw await unknownProject(tx, project);
  throw new CodedError('not_found', `Project "${project}" has no policy version ${version}.`, {
    project,
    version,
  });
}

/** Most versions in one answer. */
const maxListed = 500;

/** Who changed a project's policy when, the newest version first. @throws CodedError `project_unknown` */
export async function listPolicyVersions(
  tx: Transaction,
  project: string,
): Promise<Omit<PolicyVersion, 'policy' | 'written'>[]> {
  const rows = await tx.query<VersionRow>(
    `SELECT ${columns} FROM project_policies WHERE project_id = $1 ORDER BY version DESC LIMIT ${maxListed}`,
    [project],
  );
  if (rows.length === 0) throw await unknownProject(tx, project);
  return rows.map((row) => {
    const { policy: _, written: __, ...version } = toVersion(row);
    return version;
  });
}

interface ProjectRow extends Record<string, unknown> {
  readonly id: string;
  readonly version: number;
  readonly policy_digest: string;
  readonly created_at: string;
}

/** Every project or the named ones, by name. */
export async function listProjects(
  tx: Transaction,
  named: readonly string[] | null,
): Promise<{ id: string; policyVersion: number; policyDigest: string; createdAt: string }[]> {
  const rows = await tx.query<ProjectRow>(
    `SELECT id, version, policy_digest, created_at FROM projects
     WHERE $1::text[] IS NULL OR id = ANY($1) ORDER BY id LIMIT 1000`,
    [named],
  );
  return rows.map((row) => ({
    id: row.id,
    policyVersion: row.version,
    policyDigest: row.policy_digest,
    createdAt: row.created_at,
  }));
}
