import { keepTurns, shareTurns } from '@lemniscate/shared/queue/fair-turns.ts';
import type { Turn } from '@lemniscate/shared/queue/fair-turns.ts';
import type { PlacementQueue } from '../ports/placement-queue.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { indexOnly, keepPlans } from '../ordered-look.ts';
import { pinnedPool } from '../servers/configured-server.ts';
import { holdCaps } from './concurrency-caps.ts';
import { storeTurns } from './kept-turns.ts';
import { behindAsked, pinnedTurns } from './pinned-turns.ts';
import { sortOut, wishOf } from './reserved-sessions.ts';
import type { Sorted } from './reserved-sessions.ts';
import { behindSight, isLeft } from './sight.ts';
import { readWaiting } from './waiting-sessions.ts';
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
  /** Lanes for which the ledger knows no server: pinned ones, or all of them. */
  readonly unknown: readonly string[];
}

/** What the bites of one run have learnt. */
interface Run {
  readonly pool: string;
  readonly rebuilt: boolean;
  /** Classes that find no server now. */
  readonly full: Set<string>;
  /** Lanes that were looked at and may have nothing. */
  readonly passed: Set<string>;
}

/**
 * Step 2 of a session: whose turn it is gets a slot reserved and its job put into the queue of its pool. Nobody's job is
 * there without a reservation, so what waits, waits in the record, where turns are fair and a cancel is one row.
 */
export async function admitSessions(deps: AdmitDeps, pool: string): Promise<void> {
  const begin = (): Run => ({ pool, rebuilt: false, full: new Set(), passed: new Set() });
  let run = begin();
  for (;;) {
    const bite = await admitBite(deps, run);
    if (bite.unknown.length > 0 && !run.rebuilt) {
      await deps.rebuildLedger();
      run = { ...begin(), rebuilt: true };
      continue;
    }
    for (const serverId of bite.unknown) await deps.endPinned(serverId);
    if (!bite.more) return;
  }
}

/**
 * One transaction a bite: the lock of the pool makes dispatchers take turns at taking turns. The rows go after the
 * queue has the jobs; a crash in between repeats the hand-over, which the job's id and the reservation's make harmless.
 */
async function admitBite(deps: AdmitDeps, run: Run): Promise<Bite> {
  const { pool } = run;
  return deps.database.transaction(async (tx) => {
    const [queued, , , waiting] = await Promise.all([
      deps.queue.waiting(pool),
      tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('admission:' || $1, 0))`, [pool]),
      // What this transaction loses in a crash of Postgres, the next admission does again. A lane's head by its first
      // entries: planned freely, while little waited, each lane was read and sorted as a whole.
      tx.query(`SELECT set_config('synchronous_commit', 'off', true), ${keepPlans}, ${indexOnly}`),
      readWaiting(tx, pool, [...run.full], queueDepth),
    ]);
    const room = queueDepth - queued;
    const isPinned = pool === pinnedPool;
    const turns = isPinned ? pinnedTurns(waiting) : shareTurns(waiting, room);
    const wished = sessionsOf(waiting, turns.slice(0, Math.max(0, room)));
    if (wished.length === 0) return { more: room > 0 && (await passOver(tx, run, waiting)), unknown: [] };
    // Another pool's admission was quicker: what is seen now is true.
    if (!isPinned && !(await holdCaps(tx, waiting, turns))) return { more: true, unknown: [] };
    const [reservations, { unlocked, removed }] = await Promise.all([
      deps.reservations.reserve({ wishes: wished.map((session) => wishOf(session, isPinned)), exclude: [] }),
      lockRows(tx, wished),
    ]);
    const sorted = sortOut(wished, reservations, unlocked);
    for (const operation of sorted.free) await deps.reservations.release(operation);
    const sessions = sorted.taken.map(({ session }) => session);
    if (sessions.length > 0) {
      await deps.queue.add(
        pool,
        sorted.taken.map(({ job }) => job),
      );
      closeBite(tx, pool, waiting, sessions);
    }
    if (removed) return { more: sessions.length < room, unknown: [] };
    if (isPinned) {
      const onwards = await askOnwards(tx, run, waiting, turns, wished.length);
      const all = sessions.length === wished.length && isLeft(waiting, sessions);
      return { more: (onwards || all) && sessions.length < room, unknown: [...sorted.unknown] };
    }
    if (sorted.blank && !run.rebuilt) return { more: true, unknown: [...sorted.unknown] };
    return { more: goesOn(run, waiting, sorted) && sessions.length < room, unknown: [] };
  });
}

/** Whether the next bite may find something that this one did not: what is full stays out of it. */
function goesOn(run: Run, waiting: Waiting, { taken, free, full }: Sorted): boolean {
  const learnt = taken.length > 0 || [...full].some((name) => !run.full.has(name));
  for (const name of full) run.full.add(name);
  const rest = { ...waiting, classes: waiting.classes.filter(({ name }) => !run.full.has(name)) };
  return (
    learnt &&
    free.length === 0 &&
    isLeft(
      rest,
      taken.map(({ session }) => session),
    )
  );
}

/** Whether there are pinned sessions that this run has not asked for. */
async function askOnwards(
  tx: Transaction,
  run: Run,
  waiting: Waiting,
  turns: readonly Turn[],
  asked: number,
): Promise<boolean> {
  const before = run.passed.size;
  for (const { lane } of turns.slice(0, asked)) run.passed.add(lane);
  const behind = behindAsked(waiting, turns, asked);
  if (behind.length > 0)
    await storeTurns(tx, run.pool, waiting.round, { round: waiting.round, classes: behind });
  return behind.length > 0 && run.passed.size > before;
}

/** The sessions whose turn it is, in order. */
function sessionsOf(waiting: Waiting, turns: readonly Turn[]): WaitingSession[] {
  const next = new Map(
    waiting.classes.map(({ name, heads }) => [
      name,
      new Map([...heads].map(([lane, sessions]) => [lane, sessions.values()])),
    ]),
  );
  return turns.flatMap(({ placementClass, lane }) => next.get(placementClass)?.get(lane)?.next().value ?? []);
}

/**
 * Sessions that still wait and that nobody else holds, locked with their outbox rows: a stop that is under way takes its
 * session out. Whoever takes the job waits for the commit. Marked behind the queue's back, a session that was being minted
 * stood in no count for a moment, and its project got one more than its cap.
 */
async function lockRows(tx: Transaction, wished: readonly WaitingSession[]): Promise<LockedRows> {
  // Not FOR UPDATE: a row that refers to a session holds nobody up. Led by the ids alone: a plan made while few sessions
  // were pending walks all of them by their state, and with 100,000 waiting that took longer than a statement may.
  const rows = await tx.query<{ id: number; pending: boolean }>(
    `WITH waiting AS MATERIALIZED (
       SELECT id, session_id FROM outbox WHERE id = ANY($1) FOR UPDATE SKIP LOCKED
     ), held AS MATERIALIZED (
       SELECT id, state FROM sessions WHERE id = ANY($2) FOR NO KEY UPDATE SKIP LOCKED
     ) SELECT waiting.id, held.state = 'pending' AS pending FROM waiting JOIN held ON held.id = waiting.session_id`,
    [wished.map(({ outboxId }) => outboxId), wished.map(({ sessionId }) => sessionId)],
  );
  const dead = rows.filter(({ pending }) => !pending).map(({ id }) => id);
  if (dead.length > 0) await tx.query('DELETE FROM outbox WHERE id = ANY($1)', [dead]);
  return {
    unlocked: new Set(rows.filter(({ pending }) => pending).map(({ id }) => id)),
    removed: dead.length > 0,
  };
}

/**
 * What may be handed over, and whether rows were removed whose session waits no more: a bite's deletion may be lost in a crash of
 * Postgres after its jobs have run. At the head of their lanes such rows took every slot that few servers offer, for ever: seen in a
 * storm, with three servers of one slot each and four such rows.
 */
interface LockedRows {
  readonly unlocked: ReadonlySet<number>;
  readonly removed: boolean;
}

/** Sent without waiting: the statements travel with the commit, and one that fails makes the commit fail. */
function closeBite(
  tx: Transaction,
  pool: string,
  waiting: Waiting,
  admitted: readonly WaitingSession[],
): void {
  const work: Promise<unknown>[] = [
    tx.query('DELETE FROM outbox WHERE id = ANY($1)', [admitted.map(({ outboxId }) => outboxId)]),
    // For readers and for caps. By the ids alone: their state was seen under the lock.
    tx.query(`UPDATE sessions SET phase = 'admitted' WHERE id = ANY($1)`, [
      admitted.map(({ sessionId }) => sessionId),
    ]),
  ];
  const [first] = waiting.classes;
  // One lane that waits alone has no turns to remember.
  if (pool !== pinnedPool && (waiting.classes.length > 1 || (first?.lanes.length ?? 0) > 1)) {
    const { round, classes } = keepTurns(waiting, admitted);
    work.push(storeTurns(tx, pool, waiting.round, { round, classes: [...classes, ...behindSight(waiting)] }));
  }
  // A failure is the commit's.
  Promise.all(work).catch(() => undefined);
}

/**
 * Nothing in sight may have a slot: the next look begins behind it.
 * @returns false where everything has been looked at
 */
async function passOver(tx: Transaction, run: Run, waiting: Waiting): Promise<boolean> {
  const [passed, behind] = [run.passed.size, behindSight(waiting)];
  for (const { name, lanes } of waiting.classes)
    for (const lane of lanes) run.passed.add(`${name} ${lane.name}`);
  if (run.passed.size === passed || (behind.length === 0 && !waiting.partial)) return false;
  if (waiting.partial) for (const { name, partial } of waiting.classes) if (!partial) run.full.add(name);
  await storeTurns(tx, run.pool, waiting.round, { round: waiting.round, classes: behind });
  return true;
}
