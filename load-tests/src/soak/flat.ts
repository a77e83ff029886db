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

/**
 * Whether what a process holds is flat: the middle of the last quarter against that of the second one, since the first is
 * warming up. The middle, because a collection of garbage is due at any moment.
 * @returns what grows, as sentences; empty where all is flat
 */
export function findGrowth(name: string, seen: readonly Holding[]): readonly string[] {
  const last = seen.at(-1);
  if (last === undefined || seen.length < 8) return [`${name}: only ${seen.length} looks were taken`];
  const quarter = (which: number): readonly Holding[] =>
    seen.filter(({ atMs }) => Math.min(3, Math.floor((atMs / (last.atMs + 1)) * 4)) === which);
  const grows = (of: (one: Holding) => number, most: number, more: number): string | null => {
    const [before, after] = [middle(quarter(1).map(of)), middle(quarter(3).map(of))];
    return after > before * most + more ? `from ${before} to ${after}` : null;
  };
  const memory = grows(({ memoryBytes }) => memoryBytes, mostGrowth.memory, slack.memoryBytes);
  const handles = grows((one) => one.handles, mostGrowth.handles, slack.handles);
  return [
    ...(memory === null ? [] : [`${name}: its memory grew ${memory} bytes`]),
    ...(handles === null ? [] : [`${name}: its open files grew ${handles}`]),
  ];
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
