import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { QueueSettings } from '@lemniscate/shared/api/queue.ts';
import { requireSeen } from '../content-version.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { unknownProject } from './project.ts';

export interface QueueSettingsDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
}

interface SettingsRow extends Record<string, unknown> {
  readonly pool: string;
  readonly architecture: string | null;
  readonly labels: string[];
  readonly queue_weight: number;
  readonly max_concurrent: number | null;
  readonly max_backlog: number | null;
  readonly max_wait_seconds: number | null;
}

const columns = 'pool, architecture, labels, queue_weight, max_concurrent, max_backlog, max_wait_seconds';

/** How a project's sessions queue. @throws CodedError `project_unknown` */
export async function readQueueSettings(
  tx: Transaction,
  projectId: string,
  lock: '' | 'FOR NO KEY UPDATE' = '',
): Promise<QueueSettings> {
  const [row] = await tx.query<SettingsRow>(`SELECT ${columns} FROM projects WHERE id = $1 ${lock}`, [
    projectId,
  ]);
  if (row === undefined) throw await unknownProject(tx, projectId);
  return {
    pool: row.pool,
    architecture: row.architecture,
    labels: row.labels,
    weight: row.queue_weight,
    maxConcurrent: row.max_concurrent,
    maxBacklog: row.max_backlog,
    maxWaitSeconds: row.max_wait_seconds,
  };
}

/**
 * Changes what is named and leaves the rest. Pool, architecture and labels hold for sessions from now on; weight and
 * bounds also for those that wait.
 * @param seen the version of the settings that the caller saw
 * @throws CodedError `project_unknown`, `version_conflict`
 */
export async function changeQueueSettings(
  deps: QueueSettingsDeps,
  person: Person,
  projectId: string,
  change: Partial<QueueSettings>,
  seen: string,
): Promise<QueueSettings> {
  const changed = await deps.database.transaction(async (tx) => {
    const before = await readQueueSettings(tx, projectId, 'FOR NO KEY UPDATE');
    requireSeen(before, seen, `queue settings of "${projectId}"`);
    const after = { ...before, ...change };
    await tx.query(
      `UPDATE projects SET pool = $2, architecture = $3, labels = $4, queue_weight = $5, max_concurrent = $6,
         max_backlog = $7, max_wait_seconds = $8 WHERE id = $1`,
      [
        projectId,
        after.pool,
        after.architecture,
        after.labels,
        after.weight,
        after.maxConcurrent,
        after.maxBacklog,
        after.maxWaitSeconds,
      ],
    );
    await deps.audit.append(tx, reviewChain(projectId), [
      { type: 'queue.changed', subject: person.subject, body: { before, after } },
    ]);
    return after;
  });
  deps.signals.send('slotFreed', undefined);
  return changed;
}
