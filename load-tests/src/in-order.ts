/** One of the load tests, as a process of its own. */
export interface Stage {
  readonly name: string;
  /** Below `load-tests/src`. */
  readonly script: string;
  readonly args: readonly string[];
}

/** How a stage ended; null: it was not begun. */
export interface StageEnd {
  readonly name: string;
  readonly exitCode: number | null;
  readonly ms: number;
}

/** The stages, each of which takes longer than the one before and finds what that one cannot. */
export function stagesFor({
  chaosMinutes,
  soakMinutes,
}: {
  chaosMinutes: number;
  soakMinutes: number;
}): readonly Stage[] {
  return [
    { name: 'bench', script: 'bench.ts', args: [] },
    { name: 'sim', script: 'sim/main.ts', args: [] },
    { name: 'chaos', script: 'chaos/main.ts', args: ['--minutes', String(chaosMinutes), '--keep'] },
    { name: 'soak', script: 'soak/main.ts', args: ['--minutes', String(soakMinutes)] },
    { name: 'soak export', script: 'soak/export.ts', args: ['export'] },
  ];
}

/**
 * Runs stages one after the other; one that fails does not take the figures of the others away.
 * @param run gives the exit code
 */
export async function runInOrder(
  stages: readonly Stage[],
  { run, now, signal }: { run: (stage: Stage) => Promise<number>; now: () => number; signal: AbortSignal },
): Promise<readonly StageEnd[]> {
  const ends: StageEnd[] = [];
  for (const stage of stages) {
    const began = now();
    const exitCode = signal.aborted ? null : await run(stage);
    ends.push({ name: stage.name, exitCode, ms: now() - began });
  }
  return ends;
}

/** @returns lines for a person, and whether all went well */
export function tellEnds(ends: readonly StageEnd[]): {
  readonly lines: readonly string[];
  readonly good: boolean;
} {
  const lines = ends.map(({ name, exitCode, ms }) => {
    const how = exitCode === null ? 'not run' : exitCode === 0 ? 'good' : `FAILED, exit code ${exitCode}`;
    return `${name.padEnd(12)} ${(ms / 60_000).toFixed(1).padStart(6)} min  ${how}`;
  });
  return { lines, good: ends.length > 0 && ends.every(({ exitCode }) => exitCode === 0) };
}
