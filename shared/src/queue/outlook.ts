/** What waits in one project's queue at a look. */
export interface WaitingLane {
  readonly name: string;
  readonly waiting: number;
  readonly weight: number;
}

/**
 * Where a session stands among all that wait: those of its own project before it, and of each other project as many as
 * deficit round robin serves meanwhile.
 * @param own its place in its own project's queue, from 1
 * @param lanes of its class, at the last look
 */
export function queuePosition(own: number, lane: string, lanes: readonly WaitingLane[]): number {
  const weight = lanes.find(({ name }) => name === lane)?.weight ?? 1;
  const others = lanes.filter(({ name }) => name !== lane);
  return others.reduce(
    (sum, other) => sum + Math.min(other.waiting, Math.round((own * other.weight) / weight)),
    own,
  );
}

/** @param startsPerSecond of the class, measured over the last minutes */
export function estimateWaitSeconds(position: number, startsPerSecond: number): number | null {
  if (position === 0) return 0;
  return startsPerSecond > 0 ? Math.ceil(position / startsPerSecond) : null;
}
