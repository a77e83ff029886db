import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditEntryType } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Log } from '../ports/log.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { tellLedger } from './tell-ledger.ts';

export interface OperateDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly reservations: Reservations;
  readonly signals: Signals;
  readonly log: Log;
}

/**
 * Takes a server out of the rotation. What runs there goes on until the deadline, is then stored and goes on on other servers;
 * without a deadline it may finish. Repeating it sets a new deadline.
 * @param seen the version of the server that the caller saw
 * @returns the version after it
 * @throws CodedError `server_unknown`, `version_conflict`
 */
export async function drainServer(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  deadlineSeconds: number | null,
  seen: number,
): Promise<number> {
  const version = await operate(deps, person, serverId, seen, 'server.drained', {
    set: `drained_at = coalesce(drained_at, now()), drained_by = $2,
      drain_deadline = now() + $3 * interval '1 second'`,
    values: [person.subject, deadlineSeconds],
    body: { deadlineSeconds },
  });
  await tellLedger(deps.log, `agent server ${serverId} is drained`, () =>
    deps.reservations.withdraw(serverId),
  );
  return version;
}

/** Lets a drained server have sessions again. @returns its version. @throws CodedError `server_unknown`, `version_conflict` */
export async function undrainServer(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  seen: number,
): Promise<number> {
  const version = await operate(deps, person, serverId, seen, 'server.undrained', {
    set: 'drained_at = NULL, drained_by = NULL, drain_deadline = NULL',
    values: [],
    body: {},
  });
  deps.signals.send('probeServers', undefined);
  return version;
}

/**
 * Lets a newcomer use all of its slots, and gives one that was left alone for its failures another chance at once. One
 * that was left alone since the caller looked is not approved unseen.
 * @returns its version
 * @throws CodedError `server_unknown`, `version_conflict`
 */
export async function approveServer(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  seen: number,
): Promise<number> {
  const version = await operate(deps, person, serverId, seen, 'server.approved', {
    set: 'clamp = NULL, start_failures = 0, excluded_until = NULL, cleared_at = clock_timestamp()',
    values: [],
    body: {},
  });
  deps.signals.send('probeServers', undefined);
  return version;
}

async function operate(
  deps: OperateDeps,
  person: Person,
  serverId: string,
  seen: number,
  type: AuditEntryType,
  change: { set: string; values: readonly unknown[]; body: Readonly<Record<string, JsonValue>> },
): Promise<number> {
  return deps.database.transaction(async (tx) => {
    const [row] = await tx.query<{ version: number }>(
      'SELECT version FROM agent_servers WHERE id = $1 FOR NO KEY UPDATE',
      [serverId],
    );
    if (row === undefined)
      throw new CodedError(
        'server_unknown',
        `There is no agent server "${serverId}". GET /v1/servers lists them.`,
        { server: serverId },
      );
    if (row.version !== seen)
      throw new CodedError(
        'version_conflict',
        `The agent server "${serverId}" is at version ${row.version}, not ${seen}. Look at it again and decide then.`,
        { server: serverId, version: row.version },
      );
    const [changed] = await tx.query<{ version: number }>(
      `UPDATE agent_servers SET ${change.set} WHERE id = $1 RETURNING version`,
      [serverId, ...change.values],
    );
    await deps.audit.append(tx, fleetChain, [
      { type, subject: person.subject, server: serverId, body: change.body },
    ]);
    return changed?.version ?? row.version;
  });
}
