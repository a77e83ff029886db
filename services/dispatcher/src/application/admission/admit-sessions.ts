import { shareSlots } from '@lemniscate/shared/queue/fair-share.ts';
import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import { mirrorKey } from '@lemniscate/shared/repository/mirror-key.ts';
import type { PlacementQueue, ReservedJob } from '../ports/placement-queue.ts';
import type { Reservation, Reservations } from '../ports/reservations.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { goByIndex } from '../ordered-look.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import { keepTurn, readWaiting } from './waiting-sessions.ts';
import type { Waiting, WaitingSession } from './waiting-sessions.ts';

export interface AdmitDeps {
  readonly database: Database;
  readonly queue: PlacementQueue;
  readonly reservations: Reservations;
  /** Tells the ledger what the record knows of servers, after a Redis that forgot. */
  readonly rebuildLedger: () => Promise<void>;
  /** A workstation that sessions are pinned to has left: they cannot start any more. */
  readonly endPinned: (serverId: string) => Promise<void>;
}

/** Jobs that wait in a pool's queue at most: what a placement takes away in a tenth of a second. */
export const queueDepth = 64;

/** What one bite did. `more`: go on at once. */
interface Bite {
  readonly more: boolean;
  /** Pinned servers that the ledger does not know. */
  readonly unknown: readonly string[];
}

/**
 * Step 2 of a session: whose turn it is gets a slot reserved and its job put into the queue of its pool. Nobody's job is
 * there without a reservation, so what waits, waits in the record, where turns are fair and a cancel is one row.
 */
export async function admitSessions(deps: AdmitDeps, placementClass: string): Promise<void> {
  let rebuilt = false;
  for (;;) {
    const bite = await admitBite(deps, placementClass, rebuilt);
    if (bite.unknown.length > 0) {
      if (rebuilt) {
        for (const serverId of bite.unknown) await deps.endPinned(serverId);
        return;
      }
      rebuilt = true;
      await deps.rebuildLedger();
    } else if (!bite.more) return;
  }
}

/**
 * One transaction a bite: the lock of the class makes dispatchers take turns at taking turns. The rows go after the
 * queue has the jobs; a crash in between repeats the hand-over, which the job's id and the reservation's make harmless.
 */
async function admitBite(deps: AdmitDeps, placementClass: string, rebuilt: boolean): Promise<Bite> {
  return deps.database.transaction(async (tx) => {
    const [queued, , , , waiting] = await Promise.all([
      deps.queue.waiting(poolOfClass(placementClass)),
      tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('admission:' || $1, 0))`, [placementClass]),
      // What this transaction loses in a crash of Postgres, the next admission does again.
      tx.query('SET LOCAL synchronous_commit = off'),
      // A lane's head by its first entries: planned freely, while little waited, each lane was read and sorted as a whole.
      goByIndex(tx),
      readWaiting(tx, placementClass, queueDepth),
    ]);
    const room = queueDepth - queued;
    const isPinned = placementClass === pinnedPool;
    const wished = isPinned ? headsOf(waiting, room) : turnsOf(waiting, room);
    if (wished.length === 0) {
      if (room > 0 && waiting.partial) await passOver(tx, placementClass, waiting);
      return { more: room > 0 && waiting.partial, unknown: [] };
    }
    const [reservations, unlocked] = await Promise.all([
      deps.reservations.reserve({
        placementClass,
        wishes: wished.map((session) => wishOf(session, isPinned)),
        exclude: [],
      }),
      lockRows(tx, wished),
    ]);
    const { taken, free, unknown } = sortOut(wished, reservations, unlocked);
    for (const operation of free) await deps.reservations.release(operation);
    if (taken.length > 0) {
      await deps.queue.add(
        poolOfClass(placementClass),
        taken.map(({ job }) => ({ ...job, placementClass })),
      );
      await closeBite(
        tx,
        placementClass,
        waiting,
        isPinned,
        taken.map(({ session }) => session),
      );
    }
    if (unknown.size > 0 && !rebuilt) return { more: true, unknown: [...unknown] };
    return {
      more: taken.length === wished.length && taken.length < room && (waiting.partial || isMore(waiting)),
      unknown: isPinned ? [...unknown] : [],
    };
  });
}

/** The sessions whose turn it is, in order. */
function turnsOf(waiting: Waiting, slots: number): WaitingSession[] {
  const next = new Map<string, number>();
  return shareSlots(waiting.lanes, waiting.cursor, slots).picks.flatMap((lane) => {
    const at = next.get(lane) ?? 0;
    next.set(lane, at + 1);
    return waiting.heads.get(lane)?.[at] ?? [];
  });
}

/** Pinned sessions wait for a server of their own each and are nobody's rivals. */
function headsOf(waiting: Waiting, slots: number): WaitingSession[] {
  return waiting.lanes.flatMap(({ name }) => waiting.heads.get(name) ?? []).slice(0, slots);
}

function isMore(waiting: Waiting): boolean {
  return waiting.lanes.some(({ more, room }) => more && room !== 0);
}

function operationOf(session: WaitingSession): string {
  return `${session.sessionId}-g${session.generation}-0`;
}

function wishOf(session: WaitingSession, isPinned: boolean) {
  return {
    operation: operationOf(session),
    mirror: mirrorKey(session.projectId, session.repository),
    pinned: isPinned ? session.lane : null,
  };
}

/**
 * Sessions that still wait and that nobody else holds, locked with their outbox rows: a stop that is under way takes its
 * session out. Whoever takes the job waits for the commit. Marked behind the queue's back, a session that was being minted
 * stood in no count for a moment, and its project got one more than its cap.
 */
async function lockRows(tx: Transaction, wished: readonly WaitingSession[]): Promise<ReadonlySet<number>> {
  // Not FOR UPDATE: a row that refers to a session holds nobody up. Led by the ids alone: a plan made while few sessions
  // were pending walks all of them by their state, and with 100,000 waiting that took longer than a statement may.
  const rows = await tx.query<{ id: number }>(
    `WITH waiting AS MATERIALIZED (
       SELECT id, session_id FROM outbox WHERE id = ANY($1) FOR UPDATE SKIP LOCKED
     ), held AS MATERIALIZED (
       SELECT id, state FROM sessions WHERE id = ANY($2) FOR NO KEY UPDATE SKIP LOCKED
     ) SELECT waiting.id FROM waiting JOIN held ON held.id = waiting.session_id WHERE held.state = 'pending'`,
    [wished.map(({ outboxId }) => outboxId), wished.map(({ sessionId }) => sessionId)],
  );
  return new Set(rows.map(({ id }) => id));
}

interface Taken {
  readonly session: WaitingSession;
  readonly job: Omit<ReservedJob, 'placementClass'>;
}

function sortOut(
  wished: readonly WaitingSession[],
  reservations: readonly Reservation[],
  unlocked: ReadonlySet<number>,
): { taken: Taken[]; free: string[]; unknown: Set<string> } {
  const taken: Taken[] = [];
  const free: string[] = [];
  const unknown = new Set<string>();
  for (const [index, session] of wished.entries()) {
    const reservation = reservations[index];
    if (reservation?.kind === 'empty') unknown.add(session.lane);
    if (reservation?.kind !== 'reserved') continue;
    const operation = operationOf(session);
    if (!unlocked.has(session.outboxId)) {
      free.push(operation);
      continue;
    }
    const { sessionId, generation, failures } = session;
    taken.push({
      session,
      job: { sessionId, generation, failures, serverId: reservation.serverId, operation },
    });
  }
  return { taken, free, unknown };
}

/** Sent without waiting: the statements travel with the commit, and one that fails makes the commit fail. */
async function closeBite(
  tx: Transaction,
  placementClass: string,
  waiting: Waiting,
  isPinned: boolean,
  admitted: readonly WaitingSession[],
): Promise<void> {
  const work: Promise<unknown>[] = [
    tx.query('DELETE FROM outbox WHERE id = ANY($1)', [admitted.map(({ outboxId }) => outboxId)]),
    // For readers and for caps. By the ids alone: their state was seen under the lock.
    tx.query(`UPDATE sessions SET phase = 'admitted' WHERE id = ANY($1)`, [
      admitted.map(({ sessionId }) => sessionId),
    ]),
  ];
  if (!isPinned && waiting.lanes.length > 1) {
    const { cursor, deficits } = shareSlots(waiting.lanes, waiting.cursor, admitted.length);
    work.push(keepTurn(tx, placementClass, cursor, deficits));
  }
  await Promise.all(work);
}

/** None of the lanes in sight may have a slot: the next look begins behind them. */
async function passOver(tx: Transaction, placementClass: string, waiting: Waiting): Promise<void> {
  const order = [...waiting.lanes].sort((left, right) => (left.name < right.name ? -1 : 1));
  const before = order.filter(({ name }) => name < waiting.cursor.lane).at(-1);
  const last = before ?? order.at(-1);
  if (last === undefined) return;
  await keepTurn(tx, placementClass, { lane: `${last.name}\u0001`, granted: false }, new Map());
}
