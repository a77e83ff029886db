import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface DisableDeps {
  readonly audit: AuditLog;
  readonly self: string;
}

/** Puts triggers or hooks out of use, with an entry for each. Somebody has to write them anew to use them again. */
async function disable(
  { audit, self }: DisableDeps,
  tx: Transaction,
  table: 'triggers' | 'hooks',
  condition: string,
  values: readonly unknown[],
  reason: string,
): Promise<number> {
  const rows = await tx.query<{ id: string; project_id: string; owner: string }>(
    `UPDATE ${table} t SET enabled = false, disabled_reason = $1, version = version + 1 WHERE enabled AND ${condition}
     RETURNING id, project_id, owner`,
    [reason, ...values],
  );
  for (const { id, project_id: project, owner } of rows)
    await audit.append(tx, reviewChain(project), [
      {
        type: 'trigger.disabled',
        subject: self,
        body: { reason, owner, [table === 'triggers' ? 'trigger' : 'hook']: id },
      },
    ]);
  return rows.length;
}

/** Puts what has asked for a session out of use: its owner may not act any more. */
export async function disableTrigger(
  deps: DisableDeps,
  tx: Transaction,
  which: { readonly trigger: string | null; readonly hook: string | null },
  reason: string,
): Promise<void> {
  if (which.trigger !== null) await disable(deps, tx, 'triggers', 'id = $2', [which.trigger], reason);
  else if (which.hook !== null) await disable(deps, tx, 'hooks', 'id = $2', [which.hook], reason);
}

/** Puts out of use what belongs to people whose access is revoked, before it fires again. */
export async function disableRevoked(deps: DisableDeps & { readonly database: Database }): Promise<number> {
  const revoked = 'EXISTS (SELECT FROM revoked_users r WHERE r.subject = t.owner)';
  return deps.database.transaction(async (tx) => {
    const triggers = await disable(deps, tx, 'triggers', revoked, [], 'owner_disabled');
    return triggers + (await disable(deps, tx, 'hooks', revoked, [], 'owner_disabled'));
  });
}
