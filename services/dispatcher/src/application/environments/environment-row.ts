import type { EnvironmentView } from '@lemniscate/shared/api/environment.ts';
import type { EnvironmentPolicy } from '@lemniscate/shared/policy/environment.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';

/** One build of an environment. */
export interface EnvironmentRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly key: string | null;
  readonly state: EnvironmentView['state'];
  readonly cause: EnvironmentView['cause'];
  readonly session_id: string;
  readonly repository: RepositorySource;
  readonly definition: EnvironmentPolicy;
  readonly archive_sha256: string | null;
  readonly archive_bytes: number | null;
  readonly installed: readonly string[];
  readonly message: string | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly used_at: string | null;
}

export const environmentColumns = `id, project_id, key, state, cause, session_id, repository, definition, archive_sha256,
  archive_bytes, installed, message, started_at, ended_at, used_at`;

/** What a transaction has to hold before it looks for a build of this key and begins one. */
export async function takeEnvironmentTurn(tx: Transaction, project: string, key: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('environment:' || $1 || ':' || $2, 0))`, [
    project,
    key,
  ]);
}

function toView(row: EnvironmentRow): EnvironmentView {
  return {
    id: row.id,
    project: row.project_id,
    state: row.state,
    key: row.key,
    session: row.session_id,
    cause: row.cause,
    bytes: row.archive_bytes,
    message: row.message,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    usedAt: row.used_at,
  };
}

const maxListed = 200;

/** Builds of a project, the newest first. */
export async function listEnvironments(tx: Transaction, project: string): Promise<EnvironmentView[]> {
  const rows = await tx.query<EnvironmentRow>(
    `SELECT ${environmentColumns} FROM environments WHERE project_id = $1 ORDER BY started_at DESC LIMIT ${maxListed}`,
    [project],
  );
  return rows.map(toView);
}

/** @throws CodedError `environment_unknown` */
export async function readEnvironment(
  tx: Transaction,
  project: string,
  id: string,
): Promise<EnvironmentView> {
  const [row] = await tx.query<EnvironmentRow>(
    `SELECT ${environmentColumns} FROM environments WHERE project_id = $1 AND id = $2`,
    [project, id],
  );
  if (row !== undefined) return toView(row);
  throw new CodedError(
    'environment_unknown',
    `Project "${project}" has no environment ${id}. GET /v1/projects/${project}/environments lists them.`,
    { environment: id },
  );
}
