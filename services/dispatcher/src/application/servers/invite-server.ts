import { createHash, createPublicKey } from 'node:crypto';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { IssueCertificate } from '../ports/certificate-issuer.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';

export interface InviteDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
  readonly newId: NewId;
  /** An unguessable text. */
  readonly newJoinToken: () => string;
  /** Absent where the fleet's authority key is not at hand (LEMNISCATE_CA_KEY). */
  readonly issueCertificate: IssueCertificate | null;
  readonly self: string;
}

export interface Invitation {
  readonly pool: string;
  readonly capacity: number;
  readonly publicKeyPem: string;
}

export interface JoinByToken {
  readonly token: string;
  readonly publicKeyPem: string;
  readonly url: string;
  readonly capacity: number;
}

/** An invitation is for a machine that is being set up now. */
const validHours = 24;
const certificateMs = 90 * 86_400_000;
/** Slots of a newcomer until it has proved itself or somebody has approved it. */
const newcomerSlots = 1;

/**
 * Invites one server: a token for one use, for this pool and for the holder of this key only.
 * @throws CodedError `unavailable`, `request_invalid`
 */
export async function inviteServer(
  deps: InviteDeps,
  person: Person,
  invitation: Invitation,
): Promise<{ token: string; expiresAt: string }> {
  issuerOf(deps);
  const token = deps.newJoinToken();
  const expiresAt = await deps.database.transaction(async (tx) => {
    const [row] = await tx.query<{ expires_at: string }>(
      `INSERT INTO server_invitations (token_hash, pool, capacity, key_digest, invited_by, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 hour') RETURNING expires_at`,
      [
        hashOf(token),
        invitation.pool,
        invitation.capacity,
        keyDigest(invitation.publicKeyPem),
        person.subject,
        validHours,
      ],
    );
    await deps.audit.append(tx, fleetChain, [
      {
        type: 'server.invited',
        subject: person.subject,
        body: { pool: invitation.pool, capacity: invitation.capacity },
      },
    ]);
    return row?.expires_at ?? '';
  });
  return { token, expiresAt };
}

/**
 * Lets an invited server join. Its capacity is clamped until it has proved itself or is approved.
 * @throws CodedError `unauthenticated` for a token that is unknown, used, expired or another key's: which of these is
 *   nobody's business; `request_invalid`, `unavailable`
 */
export async function joinByToken(
  deps: InviteDeps,
  request: JoinByToken,
): Promise<{ serverId: string; certificatePem: string }> {
  const issue = issuerOf(deps);
  const url = new URL(request.url);
  if (url.protocol !== 'https:' || url.pathname !== '/')
    throw new CodedError(
      'request_invalid',
      `A server joins with an address https://HOST:PORT; "${request.url}" is none.`,
    );
  const digest = keyDigest(request.publicKeyPem);
  const serverId = `srv-${deps.newId('agentServer')}`;
  await deps.database.transaction(async (tx) => {
    // One statement decides: of two that come with the same token one finds it used.
    const [used] = await tx.query<{ pool: string; capacity: number; invited_by: string }>(
      `UPDATE server_invitations SET used_by = $3, used_at = now()
       WHERE token_hash = $1 AND key_digest = $2 AND used_at IS NULL AND expires_at > now()
       RETURNING pool, capacity, invited_by`,
      [hashOf(request.token), digest, serverId],
    );
    if (used === undefined)
      throw new CodedError(
        'unauthenticated',
        'This join token does not let this key in. A token is for one use, one key and a day; ask for a new one.',
      );
    await tx.query('INSERT INTO agent_servers (id, url, pool, capacity, clamp) VALUES ($1, $2, $3, $4, $5)', [
      serverId,
      url.origin,
      used.pool,
      Math.min(used.capacity, request.capacity),
      newcomerSlots,
    ]);
    await deps.audit.append(tx, fleetChain, [
      { type: 'server.joined', subject: used.invited_by, server: serverId, body: { pool: used.pool } },
    ]);
  });
  const certificatePem = await issue({
    serverId,
    publicKeyPem: request.publicKeyPem,
    validForMs: certificateMs,
  });
  deps.signals.send('probeServers', undefined);
  return { serverId, certificatePem };
}

function issuerOf(deps: InviteDeps): IssueCertificate {
  if (deps.issueCertificate !== null) return deps.issueCertificate;
  throw new CodedError(
    'unavailable',
    'This fleet takes no servers by token: its dispatcher has no LEMNISCATE_CA_KEY. Name them in AGENT_SERVERS.',
  );
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function keyDigest(pem: string): string {
  try {
    const spki = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(spki).digest('hex');
  } catch (error) {
    throw new CodedError('request_invalid', 'The public key cannot be read. Send it as PEM.', {}, error);
  }
}
