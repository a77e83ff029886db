import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Log } from '../ports/log.ts';
import type { IssueCertificate } from '../ports/certificate-issuer.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Database } from '../ports/transaction.ts';
import { fetchingAddress, pinnedPool } from './configured-server.ts';
import type { ConfiguredServer } from './configured-server.ts';
import { findServer } from './server-row.ts';

export interface JoinDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly reservations: Reservations;
  readonly configured: () => Promise<readonly ConfiguredServer[]>;
  readonly newId: NewId;
  readonly log: Log;
  /** Absent where the fleet's authority key is not at hand (LEMNISCATE_CA_KEY). */
  readonly issueCertificate: IssueCertificate | null;
}

export interface JoinRequest {
  readonly publicKeyPem: string;
  readonly capacity: number;
}

/** A working day; a workstation that stays longer joins again. */
const certificateMs = 12 * 60 * 60 * 1_000;

/**
 * Lets a person's own agent server join: a certificate under a new name, in the pool of pinned servers, which takes
 * that person's sessions only. It has no address: it fetches its orders, so nothing is ever sent to a place that a caller
 * names, and it works behind any wall that lets it out.
 * @throws CodedError `unavailable`
 */
export async function joinWorkstation(
  deps: JoinDeps,
  person: Person,
  request: JoinRequest,
): Promise<{ serverId: string; certificatePem: string }> {
  if (deps.issueCertificate === null)
    throw new CodedError(
      'unavailable',
      'This fleet takes no workstations: its dispatcher has no LEMNISCATE_CA_KEY. Use execution server.',
    );
  const serverId = `ws-${deps.newId('agentServer')}`;
  const certificatePem = await deps.issueCertificate({
    serverId,
    publicKeyPem: request.publicKeyPem,
    validForMs: certificateMs,
  });
  await deps.database.transaction(async (tx) => {
    await tx.query(
      'INSERT INTO agent_servers (id, url, pool, capacity, pinned_to) VALUES ($1, $2, $3, $4, $5)',
      [serverId, fetchingAddress(serverId), pinnedPool, request.capacity, person.subject],
    );
    await deps.audit.append(tx, fleetChain, [
      { type: 'server.joined', subject: person.subject, server: serverId, body: { pool: pinnedPool } },
    ]);
  });
  deps.log.info({ server: serverId, subject: person.subject }, 'a workstation has joined');
  return { serverId, certificatePem };
}

/**
 * Takes a workstation out again, or, for an operator, a server that has joined a pool by token. One that is configured
 * would come back with the next probe, so that is refused. A session that still runs there is lost with its lease.
 * @throws CodedError `server_unknown`, `forbidden`
 */
export async function leaveWorkstation(deps: JoinDeps, person: Person, serverId: string): Promise<void> {
  const server = await findServer(deps.database, serverId);
  if (server === null)
    throw new CodedError('server_unknown', `There is no agent server "${serverId}".`, { server: serverId });
  const operates = hasRole(person, null, 'operator', 'administrator');
  if (server.pinned_to !== person.subject && !(server.pinned_to === null && operates))
    throw new CodedError(
      'forbidden',
      server.pinned_to === null
        ? `Agent server "${serverId}" belongs to a pool; an operator takes it out.`
        : `Agent server "${serverId}" is somebody else's workstation.`,
      { server: serverId },
    );
  if ((await deps.configured()).some(({ url }) => url === server.url))
    throw new CodedError(
      'forbidden',
      `Agent server "${serverId}" stands in the list of agent servers. Take its line out of AGENT_SERVERS or its file; "lemniscate servers drain" empties it.`,
      { server: serverId },
    );
  await deps.reservations.withdraw(serverId);
  await deps.database.transaction(async (tx) => {
    await tx.query('DELETE FROM agent_servers WHERE id = $1', [serverId]);
    await deps.audit.append(tx, fleetChain, [
      { type: 'server.left', subject: person.subject, server: serverId, body: {} },
    ]);
  });
}
