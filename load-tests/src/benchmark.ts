import { cpus, totalmem } from 'node:os';

/** How many rounds went, and how long the middle one, the slowest in a hundred and the slowest of all took. */
export interface Distribution {
  readonly name: string;
  readonly unit: string;
  readonly n: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** One figure: a distribution of rounds, or a single value. */
export type BenchResult =
  | Distribution
  | { readonly name: string; readonly unit: string; readonly value: number };

/** A figure that is promised, and whether this run keeps the promise. */
export interface BenchGoal {
  readonly name: string;
  /** The value must not be above it. */
  readonly goal: number;
  readonly value: number;
  readonly unit: string;
  readonly met: boolean;
}

/** What a run of one benchmark gives. */
export interface BenchOutcome {
  readonly results: readonly BenchResult[];
  readonly goals: readonly BenchGoal[];
}

/** What a benchmark may use. */
export interface BenchIo {
  readonly projectRoot: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Lines of progress for a person. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One benchmark. */
export interface Benchmark {
  readonly name: string;
  /** One sentence for the list. */
  readonly about: string;
  run(io: BenchIo): Promise<BenchOutcome>;
}

/** The whole answer of `npm run bench -- NAME --json`. */
export interface BenchReport extends BenchOutcome {
  readonly name: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGiB: number;
    readonly node: string;
  };
  /** When it ran and of which source; absent in runs that were kept before this was told. */
  readonly ran?: {
    /** UTC, `2026-11-30`. */
    readonly day: string;
    /** Abbreviated; with a `+` where the tree had changes of its own. */
    readonly commit: string;
    /** Of what the figures hang on, such as `pg 8.23.1`. */
    readonly versions: string;
  };
}

/** The machine that the figures belong to. */
export function describeMachine(): BenchReport['machine'] {
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    node: process.version,
  };
}

/** Percentiles of rounds by nearest rank. */
export function distribution(name: string, unit: string, rounds: readonly number[]): Distribution {
  const sorted = [...rounds].sort((left, right) => left - right);
  const rank = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { name, unit, n: sorted.length, p50: rank(0.5), p99: rank(0.99), max: rank(1) };
}

/** Compares a value with what is promised of it. */
export function goalAtMost(name: string, unit: string, goal: number, value: number): BenchGoal {
  return { name, unit, goal, value, met: value <= goal };
}
