import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';

/** The project of a local fleet. */
export const localProject = 'local';

/** A project's policy as it is frozen into each session. */
export interface ProjectPolicy {
  readonly policy: Policy;
  readonly digest: string;
}

/** What a new session takes over from its project. */
export interface ProjectTerms extends ProjectPolicy {
  readonly queue: ProjectQueue;
}

/** How a project's sessions queue. */
export interface ProjectQueue {
  readonly pool: string;
  readonly architecture: string | null;
  readonly labels: readonly string[];
  /** Sessions that may wait; null: the fleet's own bound. */
  readonly maxBacklog: number | null;
}

interface ProjectRow extends Record<string, unknown> {
  readonly policy: Policy;
  readonly policy_digest: string;
  readonly pool: string;
  readonly architecture: string | null;
  readonly labels: readonly string[];
  readonly max_backlog: number | null;
}

/**
 * Loads the policy that a new session freezes, and how it queues.
 * @throws CodedError `project_unknown`, listing what exists
 */
export async function loadProjectPolicy(tx: Transaction, id: string): Promise<ProjectTerms> {
  const [row] = await tx.query<ProjectRow>(
    'SELECT policy, policy_digest, pool, architecture, labels, max_backlog FROM projects WHERE id = $1',
    [id],
  );
  if (row !== undefined)
    return {
      policy: row.policy,
      digest: row.policy_digest,
      queue: {
        pool: row.pool,
        architecture: row.architecture,
        labels: row.labels,
        maxBacklog: row.max_backlog,
      },
    };
  throw await unknownProject(tx, id);
}

/** The error of a project that does not exist, with the names of those that do. */
export async function unknownProject(tx: Transaction, id: string): Promise<CodedError> {
  const known = await tx.query<{ id: string }>('SELECT id FROM projects ORDER BY id LIMIT 20');
  const names = known.map((project) => project.id);
  return new CodedError(
    'project_unknown',
    `There is no project "${id}". ${names.length === 0 ? 'None exists yet.' : `There are: ${names.join(', ')}.`}`,
    { project: id, known: names },
  );
}
