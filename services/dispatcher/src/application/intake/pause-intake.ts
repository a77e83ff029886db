import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { PausedIntake } from '@lemniscate/shared/api/intake.ts';
import { harmlessText } from '../events/harmless.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';

export interface IntakeDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
}

/** Everything whose intake is paused. */
export async function listPauses(tx: Transaction): Promise<PausedIntake[]> {
  const rows = await tx.query<{ scope: string; paused_by: string; note: string | null; paused_at: string }>(
    'SELECT scope, paused_by, note, paused_at FROM intake_pauses ORDER BY scope LIMIT 1000',
  );
  return rows.map((row) => ({
    scope: row.scope,
    pausedBy: row.paused_by,
    note: row.note,
    pausedAt: row.paused_at,
  }));
}

/**
 * Pauses intake: sessions are accepted and wait, what runs goes on. Repeating it changes nothing.
 * @param scope `fleet`, `pool:NAME`, `project:NAME`
 */
export async function pauseIntake(
  deps: IntakeDeps,
  person: Person,
  scope: string,
  note: string | null,
): Promise<void> {
  await deps.database.transaction((tx) => writePause(deps, tx, person.subject, scope, note));
}

/** In the caller's transaction. */
export async function writePause(
  deps: Pick<IntakeDeps, 'audit'>,
  tx: Transaction,
  subject: string,
  scope: string,
  note: string | null,
): Promise<void> {
  const added = await tx.query(
    `INSERT INTO intake_pauses (scope, paused_by, note) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING scope`,
    [scope, subject, note === null ? null : harmlessText(note)],
  );
  if (added.length > 0)
    await deps.audit.append(tx, fleetChain, [{ type: 'intake.paused', subject, body: { scope } }]);
}

/**
 * Lets sessions in again.
 * @returns whether it was paused
 */
export async function resumeIntake(deps: IntakeDeps, person: Person, scope: string): Promise<boolean> {
  const resumed = await deps.database.transaction(async (tx) => {
    const removed = await tx.query('DELETE FROM intake_pauses WHERE scope = $1 RETURNING scope', [scope]);
    if (removed.length > 0)
      await deps.audit.append(tx, fleetChain, [
        { type: 'intake.resumed', subject: person.subject, body: { scope } },
      ]);
    return removed.length > 0;
  });
  deps.signals.send('slotFreed', undefined);
  return resumed;
}
