import type { Candidate } from './candidates.ts';
import { findCandidates } from './candidates.ts';
import type { Outcome } from './rehearsal/harness.ts';
import { rehearseTests } from './rehearsal/rehearse.ts';
import type { ModuleText } from './rehearsal/modules.ts';
import { readProgram } from './source-file.ts';
import type { SourceFile } from './source-file.ts';
import type { TestFailure } from './test-failure.ts';

/** What is known of a repository when a repair is looked for. */
export interface Case {
  readonly failures: readonly TestFailure[];
  readonly sources: readonly SourceFile[];
  readonly tests: readonly SourceFile[];
  /** The path that a specifier of a file names, if there is one. */
  readonly resolve: (importer: string, specifier: string) => string | undefined;
}

// A rehearsal holds up every other exchange of the process: about half a second at most.
const mostSteps = 1_500_000;
const mostCandidates = 2500;
// So many that mend are enough to choose from.
const enough = 6;
const mostIdle = 6;
// A repair can make an endless loop: it may take ten times as long as the code does now.
const slowest = 10;
const leastSteps = 3000;

/** What a rehearsal promises of a repair, best first; the numbers are the order. */
export const promises = {
  mends: 0,
  mendsSome: 1,
  getsFurther: 2,
  unknown: 3,
  nothing: 4,
  breaks: 5,
} as const;
export type Promise = (typeof promises)[keyof typeof promises];

type Outcomes = ReadonlyMap<string, Outcome>;
interface Stage {
  readonly outcomes: Outcomes;
  readonly steps: number;
}

const testKey = (path: string, name: string): string => `${path}\n${name}`;

/** The test files by what they reach, so that a repair is rehearsed only where it can show. */
function reachOf(
  test: SourceFile,
  files: ReadonlyMap<string, SourceFile>,
  { resolve }: Case,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const front = [test];
  for (let file = front.pop(); file !== undefined; file = front.pop()) {
    for (const specifier of file.imports) {
      const next = files.get(resolve(file.path, specifier) ?? '');
      if (next === undefined || reached.has(next.path)) continue;
      reached.add(next.path);
      front.push(next);
    }
  }
  return reached;
}

function play(
  test: SourceFile,
  files: ReadonlyMap<string, ModuleText>,
  { resolve }: Case,
  steps: number,
): Stage {
  const found = rehearseTests(
    test,
    (importer, specifier) => files.get(resolve(importer, specifier) ?? ''),
    steps,
  );
  const outcomes = [...found.outcomes].map(([name, outcome]) => [testKey(test.path, name), outcome] as const);
  return { outcomes: new Map(outcomes), steps: found.steps };
}

/** Failing tests of a run by the key of their file; a failure without a file is looked for in all of them. */
function failingKeys({ failures, tests }: Case): ReadonlySet<string> {
  return new Set(
    failures.flatMap((failure) =>
      tests
        .filter((test) => failure.file === undefined || failure.file.endsWith(test.path))
        .map((test) => testKey(test.path, failure.name)),
    ),
  );
}

/** Tests whose rehearsal agrees with the real run; only they say anything. */
function trusted(before: Outcomes, failing: ReadonlySet<string>): Outcomes {
  return new Map(
    [...before].filter(([key, outcome]) => outcome.kind === (failing.has(key) ? 'failed' : 'passed')),
  );
}

function judge(before: Outcomes, after: Outcomes, failingCount: number): Promise {
  let mended = 0;
  let further = 0;
  let isUnknown = false;
  for (const [key, old] of before) {
    const now = after.get(key);
    if (now === undefined || (old.kind === 'passed' && now.kind === 'failed')) return promises.breaks;
    if (now.kind === 'unknown') isUnknown = true;
    if (old.kind !== 'failed') continue;
    if (now.kind === 'passed') mended += 1;
    if (now.kind === 'failed') further += now.assertions - old.assertions;
  }
  if (mended === failingCount && !isUnknown) return promises.mends;
  if (mended > 0) return promises.mendsSome;
  if (isUnknown) return promises.unknown;
  return further > 0 ? promises.getsFurther : promises.nothing;
}

/** Whether a repair changes anything that a failing test sees. */
function changesSomething(before: Outcomes, after: Outcomes): boolean {
  return [...before].some(([key, old]) => {
    const now = after.get(key);
    if (old.kind !== 'failed') return false;
    return now?.kind !== 'failed' || now.detail !== old.detail || now.assertions !== old.assertions;
  });
}

/** Rehearses a candidate against every test that reaches its file. */
function createJudge(known: Case): (candidate: Candidate) => Promise {
  const files = new Map([...known.sources, ...known.tests].map((file) => [file.path, file]));
  const stages = known.tests.map((test) => ({
    test,
    reach: reachOf(test, files, known),
    before: play(test, files, known, mostSteps / 10),
  }));
  const failing = failingKeys(known);
  const before = trusted(new Map(stages.flatMap((stage) => [...stage.before.outcomes])), failing);
  const failingCount = [...before.values()].filter((outcome) => outcome.kind === 'failed').length;
  // A place where so many repairs changed nothing at all is not what is wrong.
  const dead = new Map<string, number>();
  let left = mostSteps;
  return (candidate) => {
    if (failingCount === 0 || left <= 0) return promises.unknown;
    if ((dead.get(candidate.site) ?? 0) >= mostIdle) return promises.nothing;
    const program = readProgram(candidate.path, candidate.after);
    if (program === undefined) return promises.breaks;
    const staged = new Map<string, ModuleText>([
      ...files,
      [candidate.path, { path: candidate.path, program }],
    ]);
    left -= candidate.after.length / 20;
    const after = new Map(before);
    for (const { test, reach, before: old } of stages) {
      if (!reach.has(candidate.path)) continue;
      const stage = play(test, staged, known, Math.max(leastSteps, old.steps * slowest));
      left -= stage.steps + 100;
      for (const key of old.outcomes.keys()) after.delete(key);
      for (const [key, outcome] of stage.outcomes) after.set(key, outcome);
    }
    if (!changesSomething(before, after)) dead.set(candidate.site, (dead.get(candidate.site) ?? 0) + 1);
    return judge(before, after, failingCount);
  };
}

/**
 * All repairs worth trying, best first: those that mend the failing tests when they are rehearsed, then those of which
 * the rehearsal knows nothing, last those that it sees do nothing. Deterministic.
 */
export function rankCandidates(known: Case): Candidate[] {
  const found = findCandidates(known.failures, known.sources, known.tests);
  const promiseOf = createJudge(known);
  let mending = 0;
  return found
    .map((candidate, index) => {
      const isRehearsed = index < mostCandidates && mending < enough;
      const promise = isRehearsed ? promiseOf(candidate) : promises.unknown;
      if (promise === promises.mends) mending += 1;
      return { candidate, promise };
    })
    .sort((left, right) => left.promise - right.promise)
    .map(({ candidate }) => candidate);
}
