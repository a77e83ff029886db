import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { PausedIntake } from '@lemniscate/shared/api/intake.ts';
import { harmlessText } from '../events/harmless.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { changeSetting, versionOfSetting } from '../setting-version.ts';
import type { Signals } from '../signals.ts';

export interface IntakeDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
}

/** Everything whose intake is paused. */
export async function listPauses(tx: Transaction): Promise<PausedIntake[]> {
  const rows = await tx.query<{
    scope: string;
    paused_by: string;
    note: string | null;
    paused_at: string;
    version: number;
  }>('SELECT scope, paused_by, note, paused_at, version FROM intake_pauses ORDER BY scope LIMIT 1000');
  return rows.map((row) => ({
    scope: row.scope,
    pausedBy: row.paused_by,
    note: row.note,
    pausedAt: row.paused_at,
    version: row.version,
  }));
}

/**
 * Pauses intake: sessions are accepted and wait, what runs goes on. Repeating it changes nothing: who paused first, and
 * why, stays.
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
 * Lets sessions in again, unless somebody has paused anew since the caller looked.
 * @param seen the version of the pause that the caller saw
 * @returns whether it was paused
 * @throws CodedError `version_conflict`
 */
export async function resumeIntake(
  deps: IntakeDeps,
  person: Person,
  scope: string,
  seen: number,
): Promise<boolean> {
  const setting = { table: 'intake_pauses', key: [scope], what: `pause of ${scope}` } as const;
  const resumed = await deps.database.transaction(async (tx) => {
    if ((await versionOfSetting(tx, setting)) === 0) return false;
    await changeSetting(tx, setting, seen, async () => {
      await tx.query('DELETE FROM intake_pauses WHERE scope = $1', [scope]);
    });
    await deps.audit.append(tx, fleetChain, [
      { type: 'intake.resumed', subject: person.subject, body: { scope } },
    ]);
    return true;
  });
  deps.signals.send('slotFreed', undefined);
  return resumed;
}
