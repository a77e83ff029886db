import { shareSlots } from './fair-share.ts';
import type { Cursor, Lane, Shares } from './fair-share.ts';

/** What waits in one class of a pool, and where its turns stand. */
export interface WaitingClass {
  readonly name: string;
  /** In the order of their names. */
  readonly lanes: readonly Lane[];
  readonly cursor: Cursor;
  /** When it is its turn again, on its pool's clock. */
  readonly due: number;
}

/** The classes of one pool. Its clock counts rounds: in one of them each waiting lane is given a session. */
export interface WaitingPool {
  /** When the class that was served last was due. */
  readonly round: number;
  readonly classes: readonly WaitingClass[];
}

/** One session's turn. */
export interface Turn {
  readonly placementClass: string;
  readonly lane: string;
}

/** Where a class goes on. */
export interface ClassTurns extends Pick<Shares, 'cursor' | 'deficits'> {
  readonly placementClass: string;
  readonly due: number;
}

/**
 * Whose turn it is among all that waits for one pool. Within a class projects take turns (`shareSlots`); classes take turns
 * by start-time fair queueing (Goyal, Vin and Cheng, 1996), each as fast as it has lanes, so that a round is one session of
 * each lane whatever class it is in. A class whose servers are full stands aside and saves nothing: it goes on with the
 * round of the others.
 *
 * Pure: the caller keeps cursors, credits and clocks between calls.
 * @param slots how many sessions to admit at most
 * @returns in order
 */
export function shareTurns(pool: WaitingPool, slots: number): Turn[] {
  const [only] = pool.classes;
  if (only !== undefined && pool.classes.length === 1)
    return shareSlots(only.lanes, only.cursor, slots).picks.map((lane) => ({
      placementClass: only.name,
      lane,
    }));
  const speeds = speedsOf(pool.classes);
  let open = pool.classes.map((each) => ({ ...each, at: Math.max(each.due, pool.round) }));
  const turns: Turn[] = [];
  while (turns.length < slots) {
    open = open.filter(({ lanes }) => lanes.some(isOpen));
    const [next] = open.toSorted(
      (one, other) => one.at - other.at || one.due - other.due || (one.name < other.name ? -1 : 1),
    );
    if (next === undefined) return turns;
    const { picks, cursor, deficits } = shareSlots(next.lanes, next.cursor, 1);
    const [lane] = picks;
    // It is the turn of a session that was not looked at: nobody is served in its place.
    if (lane === undefined) return turns;
    turns.push({ placementClass: next.name, lane });
    next.cursor = cursor;
    next.lanes = next.lanes.map((each) => ({ ...each, deficit: deficits.get(each.name) ?? 0 }));
    next.at += 1 / (speeds.get(next.name) ?? 1);
    for (const each of open)
      each.lanes = each.lanes.map((other) => (other.name === lane ? without(other, each === next) : other));
  }
  return turns;
}

/**
 * Where turns go on after some were taken: in each class the first so many of what `shareTurns` gave it.
 */
export function keepTurns(
  pool: WaitingPool,
  taken: readonly Turn[],
): { readonly round: number; readonly classes: readonly ClassTurns[] } {
  const speeds = speedsOf(pool.classes);
  let round = pool.round;
  const classes = pool.classes.flatMap((each): ClassTurns[] => {
    const own = taken.filter(({ placementClass }) => placementClass === each.name).length;
    if (own === 0) return [];
    // What a project got in another class is no room for this one.
    const elsewhere = taken.filter(({ placementClass }) => placementClass !== each.name);
    const lanes = elsewhere.reduce(
      (rest, { lane }) => rest.map((other) => (other.name === lane ? without(other, false) : other)),
      each.lanes,
    );
    const { cursor, deficits } = shareSlots(lanes, each.cursor, own);
    // A class that waits alone has nobody to be due before.
    if (pool.classes.length === 1) return [{ placementClass: each.name, cursor, deficits, due: each.due }];
    const [at, pace] = [Math.max(each.due, pool.round), 1 / (speeds.get(each.name) ?? 1)];
    round = Math.max(round, at + (own - 1) * pace);
    return [{ placementClass: each.name, cursor, deficits, due: at + own * pace }];
  });
  return { round, classes };
}

/** Sessions that may be admitted of a lane, as far as it was looked at. */
export function admissible(lane: Lane): number {
  return Math.min(lane.waiting, lane.room ?? Infinity);
}

function isOpen(lane: Lane): boolean {
  return lane.room !== 0 && (lane.waiting > 0 || lane.more);
}

/** The lane after a session of its project was admitted: its cap is the project's, in whatever class. */
function without(lane: Lane, own: boolean): Lane {
  return {
    ...lane,
    waiting: own ? lane.waiting - 1 : lane.waiting,
    room: lane.room === null ? null : Math.max(0, lane.room - 1),
  };
}

/**
 * Sessions a round of each class: its lanes by their weights, of which the heaviest in the pool has one session a round. A
 * project that waits in several classes has its weight divided among them.
 */
function speedsOf(classes: readonly WaitingClass[]): ReadonlyMap<string, number> {
  const open = classes.map(({ name, lanes }) => ({ name, lanes: lanes.filter(isOpen) }));
  const all = open.flatMap(({ lanes }) => lanes);
  const heaviest = Math.max(...all.map(({ weight }) => weight));
  const classesOf = new Map<string, number>();
  for (const { name } of all) classesOf.set(name, (classesOf.get(name) ?? 0) + 1);
  return new Map(
    open.map(({ name, lanes }) => [
      name,
      lanes.reduce((sum, lane) => sum + lane.weight / heaviest / (classesOf.get(lane.name) ?? 1), 0),
    ]),
  );
}
