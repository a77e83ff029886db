import { createHash } from 'node:crypto';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { carryCalls } from '../checkpoints/carry-calls.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { PlacementJob } from '../ports/placement-queue.ts';
import type { Hold, Reservations } from '../ports/reservations.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { inBatches, unwrap } from '../in-batches.ts';
import { createMostRecent } from '../most-recent.ts';
import type { MostRecent } from '../most-recent.ts';
import { holdOffRebuild } from '../servers/rebuild-ledger.ts';
import { startSessions } from '../sessions/change-state.ts';
import { lockSessions, lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { OrderTimes } from './session-order.ts';

export interface MintDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
  readonly times: OrderTimes;
  readonly reservations: Pick<Reservations, 'renew'>;
  /** An unguessable text for the model relay. */
  readonly newRelayToken: () => string;
}

/** An attempt that exists in the record and has not been ordered yet. */
export interface MintedAttempt {
  readonly session: SessionRow;
  readonly attempt: number;
  readonly relayToken: string;
}

/** How a relay token is kept: whoever reads the record cannot use it. */
export function relayTokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A session whose turn it is, and the slot that it has. */
interface Wanted {
  readonly job: PlacementJob;
  readonly hold: Hold;
}

/** Null when the session is not pending in this generation any more; `unheld`: its slot is lost, and its server full. */
export type Minted = MintedAttempt | 'unheld' | null;

export type Mint = (job: PlacementJob, hold: Hold) => Promise<Minted>;

/** Policies of several kilobytes each that are kept at hand. */
const mostPolicies = 200;

/** Attempts of one transaction. More would let the first ones wait for the last. */
const together = { most: 32, lanes: 2, patienceMs: 50 };

/**
 * Mints attempts for pending sessions: fencing number, lease, start watchdog and audit entry exist before the server
 * hears of it. Guarded by state and generation, so of two jobs one at most wins. Sessions whose turn comes in the same
 * moment share a transaction; one that fails for its fellows' sake is tried again alone.
 *
 * A job may have waited while Redis forgot whose slots are whose, so each hold is renewed first.
 */
export function createMint(deps: MintDeps): Mint {
  const policies = createMostRecent<Policy>(mostPolicies);
  const inCompany = inBatches<Wanted, PromiseSettledResult<Minted>>(together, async (wanted) => {
    const minted = await mintTogether(deps, policies, wanted).catch((error: unknown) => {
      if (wanted.length === 1 || isCodedError(error, 'service_unreachable')) throw error;
      return wanted.map(() => undefined);
    });
    return Promise.allSettled(
      wanted.map(async (one, index) => {
        const found = minted[index];
        return found === undefined ? mintAlone(deps, one) : found;
      }),
    );
  });
  return async (job, hold) => {
    const minted = unwrap(await inCompany({ job, hold }));
    if (minted !== null && minted !== 'unheld') deps.events.announce(job.sessionId);
    return minted;
  };
}

/** Undefined: it has to be tried alone. */
async function mintTogether(
  deps: MintDeps,
  policies: MostRecent<Policy>,
  wanted: readonly Wanted[],
): Promise<(Minted | undefined)[]> {
  const ids = wanted.map(({ job }) => job.sessionId);
  // A job that came twice wins once, and not both in one statement.
  if (new Set(ids).size < ids.length) return wanted.map(() => undefined);
  return deps.database.transaction(async (tx) => {
    const [, sessions] = await Promise.all([holdOffRebuild(tx), lockSessions(tx, ids, policies)]);
    const rows = new Map(sessions.map((row) => [row.id, row]));
    return mint(deps, tx, wanted, rows);
  });
}

async function mintAlone(deps: MintDeps, wanted: Wanted): Promise<Minted> {
  const [minted] = await deps.database.transaction(async (tx) => {
    const [, session] = await Promise.all([holdOffRebuild(tx), lockSession(tx, wanted.job.sessionId)]);
    return mint(deps, tx, [wanted], new Map([[session.id, session]]));
  });
  return minted ?? null;
}

/** @param rows the sessions, locked */
async function mint(
  deps: MintDeps,
  tx: Transaction,
  wanted: readonly Wanted[],
  rows: ReadonlyMap<string, SessionRow>,
): Promise<(Minted | undefined)[]> {
  const plans = await plan(deps, wanted, rows);
  const minted = plans.filter((each) => each !== undefined && each !== null && each !== 'unheld');
  if (minted.length === 0) return plans;
  await Promise.all([
    startSessions(deps.events, tx, minted),
    insertAttempts(deps, tx, minted),
    ...minted
      .filter(({ session }) => session.attempt > 0)
      .map(({ session, attempt }) => carryCalls(tx, session.id, attempt)),
    deps.audit.appendEach(
      tx,
      minted.map(({ session, attempt, serverId }) => ({
        chain: sessionChain(session.id),
        drafts: [{ type: 'attempt.started', subject: deps.self, attempt, server: serverId, body: {} }],
      })),
    ),
  ]);
  return plans;
}

interface PlannedAttempt extends MintedAttempt {
  readonly serverId: string;
}

async function plan(
  { reservations, newRelayToken }: MintDeps,
  wanted: readonly Wanted[],
  rows: ReadonlyMap<string, SessionRow>,
): Promise<(PlannedAttempt | 'unheld' | null | undefined)[]> {
  const isPending = ({ job }: Wanted): boolean => {
    const session = rows.get(job.sessionId);
    return session?.state === 'pending' && session.generation === job.generation;
  };
  const pending = wanted.filter(isPending);
  if (pending.length === 0) return wanted.map(({ job }) => (rows.has(job.sessionId) ? null : undefined));
  const renewed = await reservations.renew(pending.map(({ hold }) => hold));
  const held = new Set(pending.filter((_, index) => renewed[index]));
  return wanted.map((one) => {
    const session = rows.get(one.job.sessionId);
    if (session === undefined) return undefined;
    if (!isPending(one)) return null;
    if (!held.has(one)) return 'unheld';
    return {
      session,
      attempt: session.attempt + 1,
      serverId: one.hold.serverId,
      relayToken: newRelayToken(),
    };
  });
}

async function insertAttempts(
  { times }: MintDeps,
  tx: Transaction,
  minted: readonly PlannedAttempt[],
): Promise<void> {
  await tx.query(
    `INSERT INTO attempts (session_id, attempt, server_id, boot_id, state, relay_token_hash, lease_expires_at,
       start_deadline)
     SELECT session_id, attempt, server_id, (SELECT boot_id FROM agent_servers WHERE id = server_id), 'live', token,
       now() + $5 * interval '1 millisecond', now() + $6 * interval '1 millisecond'
     FROM unnest($1::text[], $2::int[], $3::text[], $4::text[]) AS given (session_id, attempt, server_id, token)`,
    [
      minted.map(({ session }) => session.id),
      minted.map(({ attempt }) => attempt),
      minted.map(({ serverId }) => serverId),
      minted.map(({ relayToken }) => relayTokenHash(relayToken)),
      times.leaseMs,
      times.startTimeoutMs,
    ],
  );
}
