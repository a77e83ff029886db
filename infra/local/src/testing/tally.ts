import type { TestOutcome } from './test-outcome.ts';

/** What a run has come to. */
export interface Tally {
  readonly passed: number;
  readonly failed: readonly TestOutcome[];
  readonly skipped: readonly TestOutcome[];
}

export const emptyTally: Tally = { passed: 0, failed: [], skipped: [] };

/** Counts one outcome in. */
export function countIn(tally: Tally, test: TestOutcome): Tally {
  switch (test.outcome) {
    case 'passed':
      return { ...tally, passed: tally.passed + 1 };
    case 'failed':
      return { ...tally, failed: [...tally.failed, test] };
    case 'skipped':
      return { ...tally, skipped: [...tally.skipped, test] };
  }
}

/** The stable key that a skip's reason begins with: `docker-engine: no engine answers` has `docker-engine`. */
export function skipKey(reason: string | undefined): string | undefined {
  return /^([a-z0-9-]+):/.exec(reason ?? '')?.[1];
}

/**
 * In CI a skip is a failure unless its key is on the checked-in list.
 * @param allowed key → why it may be missing
 */
export function refuseSkips(tally: Tally, allowed: Readonly<Record<string, string>>): Tally {
  const isAllowed = (test: TestOutcome) => {
    const key = skipKey(test.reason);
    return key !== undefined && Object.hasOwn(allowed, key);
  };
  const refused = tally.skipped
    .filter((test) => !isAllowed(test))
    .map((test) => ({
      ...test,
      outcome: 'failed' as const,
      error: `Skipped with CI=true (“${test.reason ?? ''}”), and no key of infra/local/allowed-skips.json allows it.`,
    }));
  return { ...tally, failed: [...tally.failed, ...refused], skipped: tally.skipped.filter(isAllowed) };
}

/** The closing line that people and CI read. */
export function closingLine(passed: number, failed: number, skipped: number): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

const startLines = 20;
const startCharacters = 3_000;

/**
 * The start of an error, for the list at the end of a run: often only the end of a log is kept, and a failure that is
 * seen once in many runs must say there why it failed. The whole of it stands where the test ended.
 */
export function errorStart(error: string): string {
  const start = error.slice(0, startCharacters).split('\n').slice(0, startLines).join('\n');
  return start === error ? error : `${start}\n[…]`;
}
