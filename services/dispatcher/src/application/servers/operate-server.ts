import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditEntryType } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';

export interface OperateDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly reservations: Reservations;
  readonly signals: Signals;
}

/**
 * Takes a server out of the rotation. What runs there goes on until the deadline and is then moved to other servers;
 * without a deadline it may finish. Repeating it sets a new deadline.
 * @throws CodedError `server_unknown`
 */
export async function drainServer(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  deadlineSeconds: number | null,
): Promise<void> {
  await operate(deps, person, serverId, 'server.drained', {
    set: `drained_at = coalesce(drained_at, now()), drained_by = $2,
      drain_deadline = now() + $3 * interval '1 second'`,
    values: [person.subject, deadlineSeconds],
    body: { deadlineSeconds },
  });
  await deps.reservations.withdraw(serverId);
}

/** Lets a drained server have sessions again. @throws CodedError `server_unknown` */
export async function undrainServer(deps: OperateDeps, person: Person, serverId: string): Promise<void> {
  await operate(deps, person, serverId, 'server.undrained', {
    set: 'drained_at = NULL, drained_by = NULL, drain_deadline = NULL',
    values: [],
    body: {},
  });
  deps.signals.send('probeServers', undefined);
}

/**
 * Lets a newcomer use all of its slots, and gives one that was left alone for its failures another chance at once.
 * @throws CodedError `server_unknown`
 */
export async function approveServer(deps: OperateDeps, person: Person, serverId: string): Promise<void> {
  await operate(deps, person, serverId, 'server.approved', {
    set: 'clamp = NULL, start_failures = 0, excluded_until = NULL',
    values: [],
    body: {},
  });
  deps.signals.send('probeServers', undefined);
}

async function operate(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  type: AuditEntryType,
  change: { set: string; values: readonly unknown[]; body: Readonly<Record<string, JsonValue>> },
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const [row] = await tx.query(`UPDATE agent_servers SET ${change.set} WHERE id = $1 RETURNING id`, [
      serverId,
      ...change.values,
    ]);
    if (row === undefined)
      throw new CodedError(
        'server_unknown',
        `There is no agent server "${serverId}". GET /v1/servers lists them.`,
        { server: serverId },
      );
    await deps.audit.append(tx, fleetChain, [
      { type, subject: person.subject, server: serverId, body: change.body },
    ]);
  });
}
