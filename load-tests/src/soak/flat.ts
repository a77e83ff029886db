/** What a process held at one moment. */
export interface Holding {
  /** Milliseconds since the soak began. */
  readonly atMs: number;
  readonly memoryBytes: number;
  readonly handles: number;
}

/** Growth that a process may show from the second quarter of a soak to its last one. */
const mostGrowth = { memory: 1.15, handles: 1.1 } as const;
/** Small numbers jitter: this much more is no leak. */
const slack = { memoryBytes: 32 * 1024 * 1024, handles: 16 } as const;

/** What a process held in the middle of the second and of the last quarter of a soak. */
export interface HeldOverTime {
  readonly looks: number;
  readonly memoryBytes: FromTo;
  readonly handles: FromTo;
}
interface FromTo {
  readonly from: number;
  readonly to: number;
}

/**
 * The middle of the second quarter and that of the last one: the first is warming up, and a collection of garbage is due
 * at any moment.
 */
export function heldOverTime(seen: readonly Holding[]): HeldOverTime {
  const endMs = (seen.at(-1)?.atMs ?? 0) + 1;
  const quarter = (which: number): readonly Holding[] =>
    seen.filter(({ atMs }) => Math.min(3, Math.floor((atMs / endMs) * 4)) === which);
  const fromTo = (of: (one: Holding) => number): FromTo => ({
    from: middle(quarter(1).map(of)),
    to: middle(quarter(3).map(of)),
  });
  return {
    looks: seen.length,
    memoryBytes: fromTo(({ memoryBytes }) => memoryBytes),
    handles: fromTo(({ handles }) => handles),
  };
}

/** @returns what grows of what a process holds, as sentences; empty where all is flat */
export function findGrowth(name: string, { looks, memoryBytes, handles }: HeldOverTime): readonly string[] {
  if (looks < 8) return [`${name}: only ${looks} looks were taken`];
  const grows = ({ from, to }: FromTo, most: number, more: number) => to > from * most + more;
  return [
    ...(grows(memoryBytes, mostGrowth.memory, slack.memoryBytes)
      ? [`${name}: its memory grew from ${memoryBytes.from} to ${memoryBytes.to} bytes`]
      : []),
    ...(grows(handles, mostGrowth.handles, slack.handles)
      ? [`${name}: its open files grew from ${handles.from} to ${handles.to}`]
      : []),
  ];
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
