import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { BuiltEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { requireStored } from '../uploads/require-stored.ts';
import { takeEnvironmentTurn } from './environment-row.ts';

export interface SettleDeps {
  readonly audit: AuditLog;
  readonly self: string;
}

interface BuildRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly key: string | null;
}

/**
 * Makes what a build's session has stored the project's environment, in the transaction that ends that session.
 * @returns why it cannot be; null when it is
 * @throws CodedError `not_found` for an archive that is not stored
 */
export async function acceptEnvironment(
  deps: SettleDeps,
  tx: Transaction,
  session: { readonly id: string; readonly project_id: string },
  built: BuiltEnvironment,
): Promise<string | null> {
  const row = await lockBuild(tx, session.id);
  if (row === null) return null;
  if (row.key !== null && row.key !== built.key)
    return `Environment ${row.id} was to be ${row.key} and has become ${built.key}: the servers of this pool have different images or systems.`;
  await requireStored(tx, session.project_id, [{ path: 'the archive', ...built.archive }]);
  await tx.query(
    `UPDATE environments SET state = 'ready', key = $2, archive_sha256 = $3, archive_bytes = $4,
       installed = $5, ended_at = now()
     WHERE id = $1`,
    [row.id, built.key, built.archive.sha256, built.archive.bytes, JSON.stringify(built.installed)],
  );
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'environment.built',
      subject: deps.self,
      body: {
        environment: row.id,
        key: built.key,
        archiveDigest: built.archive.sha256,
        bytes: built.archive.bytes,
        session: session.id,
      },
    },
  ]);
  await releaseWaiting(tx, row.project_id, built.key);
  return null;
}

/** A build whose session has ended in any other way has failed, and whoever waits for it is told at the next start. */
export async function failBuild(
  deps: SettleDeps,
  tx: Transaction,
  session: string,
  end: { readonly reason: string; readonly message: string },
): Promise<void> {
  const row = await lockBuild(tx, session);
  if (row === null) return;
  await tx.query(`UPDATE environments SET state = 'failed', message = $2, ended_at = now() WHERE id = $1`, [
    row.id,
    end.message.slice(0, 8_000),
  ]);
  await deps.audit.append(tx, reviewChain(row.project_id), [
    {
      type: 'environment.failed',
      subject: deps.self,
      body: { environment: row.id, reason: end.reason, session },
    },
  ]);
  if (row.key !== null) await releaseWaiting(tx, row.project_id, row.key);
}

async function lockBuild(tx: Transaction, session: string): Promise<BuildRow | null> {
  const [row] = await tx.query<BuildRow>(
    `SELECT id, project_id, key FROM environments WHERE session_id = $1 AND state = 'building' FOR UPDATE`,
    [session],
  );
  return row ?? null;
}

/** Sessions that wait for the key take their places in the queue again. */
async function releaseWaiting(tx: Transaction, project: string, key: string): Promise<void> {
  // One that is just about to wait has seen the build under way: its transaction is let finish first.
  await takeEnvironmentTurn(tx, project, key);
  await tx.query(
    `WITH released AS (
       UPDATE sessions SET waits_for_environment = NULL, generation = generation + 1, version = version + 1
       WHERE project_id = $1 AND waits_for_environment = $2 AND state = 'pending' RETURNING id, generation
     ) INSERT INTO outbox (session_id, generation) SELECT id, generation FROM released`,
    [project, key],
  );
}
