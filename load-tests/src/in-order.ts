/** One of the load tests, as a process of its own. */
export interface Stage {
  readonly name: string;
  /** Below `load-tests/src`. */
  readonly script: string;
  readonly args: readonly string[];
  /** It is ended when it takes longer. */
  readonly limitMinutes: number;
}

/** How a stage ended: by its exit code, by our ending it, or by not being begun. */
export type Ending = number | 'too long' | 'not run';
export interface StageEnd {
  readonly name: string;
  readonly ending: Ending;
  readonly ms: number;
}

/** What is run: everything, or each stage as short as it still shows that it works. */
export interface Plan {
  readonly short: boolean;
  readonly chaosMinutes: number;
  readonly soakMinutes: number;
  /** The folder of the pages that the stages write. */
  readonly to: string;
}

/** The stages, each of which finds what the one before cannot. */
export function stagesFor({ short, chaosMinutes, soakMinutes, to }: Plan): readonly Stage[] {
  const page = ['--to', to];
  const [chaos, soak] = [String(chaosMinutes), String(soakMinutes)];
  return [
    {
      name: 'bench',
      script: 'bench.ts',
      // figures of a short run are told and not judged: it may share its machine
      args: short ? ['judge', '--keep', '--no-goals', ...page] : page,
      limitMinutes: short ? 5 : 180,
    },
    {
      name: 'sim',
      script: 'sim/main.ts',
      args: short ? ['--sessions', '50000', '--servers', '100', ...page] : page,
      limitMinutes: short ? 5 : 60,
    },
    {
      name: 'chaos',
      script: 'chaos/main.ts',
      args: ['--minutes', chaos, '--keep', ...page],
      // it may take half as long again, and has to settle after that
      limitMinutes: 1.5 * chaosMinutes + 30,
    },
    { name: 'soak', script: 'soak/main.ts', args: ['--minutes', soak], limitMinutes: soakMinutes + 20 },
    {
      name: 'soak export',
      script: 'soak/export.ts',
      args: short ? ['export', '--entries', '5000', '--kill-every', '3'] : ['export'],
      limitMinutes: short ? 10 : 75,
    },
  ];
}

/**
 * Runs stages one after the other; one that fails does not take the figures of the others away.
 * @param run gives the exit code
 */
export async function runInOrder(
  stages: readonly Stage[],
  {
    run,
    now,
    signal,
  }: { run: (stage: Stage) => Promise<number | 'too long'>; now: () => number; signal: AbortSignal },
): Promise<readonly StageEnd[]> {
  const ends: StageEnd[] = [];
  for (const stage of stages) {
    const began = now();
    const ending = signal.aborted ? 'not run' : await run(stage);
    ends.push({ name: stage.name, ending, ms: now() - began });
  }
  return ends;
}

/** @returns lines for a person, and whether all went well */
export function tellEnds(ends: readonly StageEnd[]): {
  readonly lines: readonly string[];
  readonly good: boolean;
} {
  const lines = ends.map(
    ({ name, ending, ms }) =>
      `${name.padEnd(12)} ${(ms / 60_000).toFixed(1).padStart(6)} min  ${told(ending)}`,
  );
  return { lines, good: ends.length > 0 && ends.every(({ ending }) => ending === 0) };
}

function told(ending: Ending): string {
  if (ending === 'not run') return ending;
  if (ending === 'too long') return 'FAILED, was ended: it took too long';
  return ending === 0 ? 'good' : `FAILED, exit code ${ending}`;
}
