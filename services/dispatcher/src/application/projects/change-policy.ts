import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { policyDigest } from '@lemniscate/shared/policy/policy-digest.ts';
import { readPolicy } from '@lemniscate/shared/policy/policy-file.ts';
import type { BudgetDefaults } from '@lemniscate/shared/policy/policy-file.ts';
import { requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { unknownProject } from './project.ts';
import type { ProjectPolicy } from './project.ts';

export interface ProjectDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  /** The fleet's own defaults for bounds that a policy does not write. */
  readonly budgetDefaults: BudgetDefaults;
}

/** A policy with the text that it was read from. */
export interface WrittenPolicy extends ProjectPolicy {
  readonly written: string | null;
}

/**
 * Reads a policy's text for a project.
 * @throws CodedError `request_invalid` that names the line of each fault
 */
export function readWrittenPolicy(text: string, defaults: BudgetDefaults): WrittenPolicy {
  const policy = readPolicy(text, defaults);
  return { policy, digest: policyDigest(policy), written: text };
}

/**
 * Creates a project with its first policy.
 * @throws CodedError `forbidden`, `conflict` when the name is taken, `request_invalid` for the policy
 */
export async function createProject(
  deps: ProjectDeps,
  person: Person,
  project: { readonly id: string; readonly policy?: string | undefined },
): Promise<void> {
  requireRole(person, null, 'create a project', 'administrator', 'project_admin');
  const policy = readWrittenPolicy(project.policy ?? '', deps.budgetDefaults);
  await deps.database.transaction(async (tx) => {
    if (!(await insertProject(deps, tx, project.id, policy, person.subject, 'api')))
      throw new CodedError('conflict', `There is a project "${project.id}" already.`, {
        project: project.id,
      });
  });
}

/**
 * Puts a policy in force for every session that opens from now on; open ones keep theirs. Guarded by the version that
 * the author saw. A policy that says the same is no new version.
 * @returns the version in force
 * @throws CodedError `forbidden`, `project_unknown`, `version_conflict`, `request_invalid`
 */
export async function changePolicy(
  deps: ProjectDeps,
  person: Person,
  id: string,
  change: { readonly text: string; readonly seen: number },
): Promise<number> {
  requireRole(person, id, 'change a policy', 'administrator', 'project_admin');
  const policy = readWrittenPolicy(change.text, deps.budgetDefaults);
  return deps.database.transaction(async (tx) => {
    const current = await lockProject(tx, id);
    if (current === null) throw await unknownProject(tx, id);
    if (current.version !== change.seen)
      throw new CodedError(
        'version_conflict',
        `The policy of project "${id}" is at version ${current.version}, not ${change.seen}. Read it again and change that.`,
        { project: id, version: current.version },
      );
    if (current.policy_digest === policy.digest) return current.version;
    return replacePolicy(deps, tx, id, current, policy, person.subject, 'api');
  });
}

/**
 * At a start: gives the project the policy of the fleet's file, unless that file said the same at the last start. What
 * an administrator has put in force since then stays.
 */
export async function ensureProject(
  deps: Pick<ProjectDeps, 'audit'> & { readonly self: string },
  tx: Transaction,
  id: string,
  policy: WrittenPolicy,
): Promise<void> {
  if (await insertProject(deps, tx, id, policy, deps.self, 'file')) return;
  const current = await lockProject(tx, id);
  const [last] = await tx.query<{ policy_digest: string }>(
    `SELECT policy_digest FROM project_policies WHERE project_id = $1 AND origin = 'file'
     ORDER BY version DESC LIMIT 1`,
    [id],
  );
  if (current === null || last?.policy_digest === policy.digest) return;
  await replacePolicy(deps, tx, id, current, policy, deps.self, 'file');
}

interface LockedProject extends Record<string, unknown> {
  readonly version: number;
  readonly policy_digest: string;
}

async function lockProject(tx: Transaction, id: string): Promise<LockedProject | null> {
  const [row] = await tx.query<LockedProject>(
    'SELECT version, policy_digest FROM projects WHERE id = $1 FOR UPDATE',
    [id],
  );
  return row ?? null;
}

async function insertProject(
  deps: Pick<ProjectDeps, 'audit'>,
  tx: Transaction,
  id: string,
  policy: WrittenPolicy,
  subject: string,
  origin: 'api' | 'file',
): Promise<boolean> {
  const added = await tx.query(
    `INSERT INTO projects (id, policy, policy_digest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id`,
    [id, JSON.stringify(policy.policy), policy.digest],
  );
  if (added.length === 0) return false;
  await recordVersion(deps, tx, { id, version: 1, before: null, policy, subject, origin });
  return true;
}

async function replacePolicy(
  deps: Pick<ProjectDeps, 'audit'>,
  tx: Transaction,
  id: string,
  current: LockedProject,
  policy: WrittenPolicy,
  subject: string,
  origin: 'api' | 'file',
): Promise<number> {
  const version = current.version + 1;
  await tx.query('UPDATE projects SET policy = $2, policy_digest = $3, version = $4 WHERE id = $1', [
    id,
    JSON.stringify(policy.policy),
    policy.digest,
    version,
  ]);
  await recordVersion(deps, tx, { id, version, before: current.policy_digest, policy, subject, origin });
  return version;
}

interface NewVersion {
  readonly id: string;
  readonly version: number;
  readonly before: string | null;
  readonly policy: WrittenPolicy;
  readonly subject: string;
  readonly origin: 'api' | 'file';
}

async function recordVersion(
  deps: Pick<ProjectDeps, 'audit'>,
  tx: Transaction,
  { id, version, before, policy, subject, origin }: NewVersion,
): Promise<void> {
  await tx.query(
    `INSERT INTO project_policies (project_id, version, written, policy, policy_digest, origin, changed_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, version, policy.written, JSON.stringify(policy.policy), policy.digest, origin, subject],
  );
  await deps.audit.append(tx, reviewChain(id), [
    {
      type: 'policy.changed',
      subject,
      body: { project: id, version, policyDigest: policy.digest, beforeDigest: before, origin },
    },
  ]);
}
