import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { ResendRequest, Resends } from '@lemniscate/shared/audit/resend-api.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface ResendDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly newId: NewId;
}

/** Open requests that one receiver may have: a loop that asks again and again must not fill the table. */
const mostOpen = 20;

/**
 * Asks the exporter to send a range to a receiver once more. The receiver drops what it has by the ids.
 * @throws CodedError `not_found` for a receiver that no exporter has; `request_invalid` for a range that the log has not;
 *   `conflict` when too many are open
 */
export async function requestResend(
  { database, audit, newId }: ResendDeps,
  person: Person,
  { sink, from, to }: ResendRequest,
): Promise<string> {
  const id = newId('resend');
  await database.transaction(async (tx) => {
    const [known] = await tx.query<{ size: number; open: number }>(
      `SELECT (SELECT coalesce(max(index) + 1, 0) FROM audit_log)::bigint AS size,
         (SELECT count(*)::int FROM audit_resends r WHERE r.sink = s.name AND r.done_at IS NULL) AS open
       FROM audit_sinks s WHERE s.name = $1`,
      [sink],
    );
    if (known === undefined)
      throw new CodedError(
        'not_found',
        `No exporter ships to ${sink}. \`lemniscate audit exporters\` lists them.`,
      );
    if (from >= to || to > known.size)
      throw new CodedError(
        'request_invalid',
        `The log has the entries 0 to before ${known.size}; from ${from} to before ${to} is no part of it.`,
      );
    if (known.open >= mostOpen)
      throw new CodedError(
        'conflict',
        `${mostOpen} ranges are still to be sent again to ${sink}. Wait for them.`,
      );
    await tx.query(
      'INSERT INTO audit_resends (id, sink, from_index, to_index, next_index) VALUES ($1, $2, $3, $4, $3)',
      [id, sink, from, to],
    );
    await audit.append(tx, fleetChain, [
      {
        type: 'admin.acted',
        subject: person.subject,
        body: { act: 'audit.resend', target: sink, from: String(from), to: String(to) },
      },
    ]);
  });
  return id;
}

/** The last hundred requests, the newest first. */
export async function listResends(tx: Transaction): Promise<Resends> {
  const rows = await tx.query<Resends['resends'][number] & Record<string, unknown>>(
    `SELECT id, sink, from_index AS from, to_index AS to, next_index AS next, requested_at AS "requestedAt",
       done_at AS "doneAt", refused
     FROM audit_resends ORDER BY requested_at DESC, id DESC LIMIT 100`,
  );
  return { resends: [...rows] };
}
