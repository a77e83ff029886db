/** What a project (or a pinned server) has waiting, as far as the caller has looked. */
export interface Lane {
  readonly name: string;
  /** Share of the slots against the other lanes; whole numbers from 1. */
  readonly weight: number;
  /** Waiting sessions that may be admitted now. */
  readonly waiting: number;
  /** Whether there are more behind those. */
  readonly more: boolean;
  /** Sessions that its concurrency cap still allows; null: no cap. */
  readonly room: number | null;
  /** Credit from earlier turns, below one session. */
  readonly deficit: number;
}

/** Whose turn it is: the lane, and whether it has been given this turn's credit already. */
export interface Cursor {
  readonly lane: string;
  readonly granted: boolean;
}

/** What one call gave away, and where the next one goes on. */
export interface Shares {
  /** Names of lanes, one for each admitted session, in order. */
  readonly picks: readonly string[];
  readonly deficits: ReadonlyMap<string, number>;
  readonly cursor: Cursor;
}

/**
 * Deficit round robin (Shreedhar and Varghese, 1995) with sessions as packets of size one. A lane's credit for a turn
 * is its weight over the largest weight present, so that the heaviest lane gets one session a turn: a lane never waits
 * for more than one session of each other lane between two of its own turns. An empty or capped lane keeps no credit.
 *
 * Pure: the caller keeps deficits and cursor between calls, and a call for n sessions followed by one for m gives what
 * one for n + m would.
 * @param lanes in the order of their names
 * @param slots how many sessions to admit at most
 */
export function shareSlots(lanes: readonly Lane[], cursor: Cursor, slots: number): Shares {
  const open = lanes
    .map((lane) => ({
      name: lane.name,
      weight: lane.weight,
      left: Math.min(lane.waiting, lane.room ?? Infinity),
      // What was not looked at is still there: the lane is not empty, and nobody may be served in its place.
      blind: lane.more && (lane.room === null || lane.room > lane.waiting),
      deficit: lane.deficit,
    }))
    .filter((lane) => lane.left > 0 || lane.blind);
  const deficits = new Map(lanes.map((lane) => [lane.name, 0]));
  for (const lane of open) deficits.set(lane.name, lane.deficit);
  const picks: string[] = [];
  let heaviest = heaviestOf(open);
  let at = open.findIndex((lane) => lane.name >= cursor.lane);
  if (at === -1) at = 0;
  let granted = cursor.granted && open[at]?.name === cursor.lane;

  while (open.length > 0 && picks.length < slots) {
    const lane = open[at];
    if (lane === undefined) throw new Error('the turn points at no lane');
    if (!granted) lane.deficit += lane.weight / heaviest;
    granted = true;
    // Credits are sums of fractions: a lane of weight 1 among 3 must have its session after three turns.
    while (lane.deficit > 1 - 1e-9 && lane.left > 0 && picks.length < slots) {
      picks.push(lane.name);
      lane.deficit = Math.max(0, lane.deficit - 1);
      lane.left -= 1;
    }
    deficits.set(lane.name, lane.deficit);
    if (lane.deficit > 1 - 1e-9 && lane.left > 0) break;
    if (lane.left === 0 && lane.blind && lane.deficit > 1 - 1e-9) break;
    granted = false;
    if (lane.left === 0 && !lane.blind) {
      deficits.set(lane.name, 0);
      open.splice(at, 1);
      if (open.length === 0)
        return { picks, deficits, cursor: { lane: `${lane.name}\u0001`, granted: false } };
      at %= open.length;
      // The next call would not know of it.
      heaviest = heaviestOf(open);
    } else at = (at + 1) % open.length;
  }
  const next = open[at];
  return { picks, deficits, cursor: next === undefined ? cursor : { lane: next.name, granted } };
}

function heaviestOf(lanes: readonly Pick<Lane, 'weight'>[]): number {
  return Math.max(...lanes.map(({ weight }) => weight));
}
