import type { TestFailure } from './test-failure.ts';
import type { TestReport } from './test-report.ts';

/** `yes`: a test more passes; `further`: a failing test fails at a later line than before. */
export type Help = 'yes' | 'further' | 'no';

const keyOf = (failure: TestFailure): string => `${failure.file ?? ''}\n${failure.name}`;

/** The line of the test file where the test failed; 0 when the report does not say. */
function lineOf(failure: TestFailure): number {
  const frame = failure.stack.find(({ file }) => failure.file === undefined || file.endsWith(failure.file));
  return frame?.line ?? 0;
}

function comesFurther(before: readonly TestFailure[], after: readonly TestFailure[]): boolean {
  const lines = new Map(before.map((failure) => [keyOf(failure), lineOf(failure)]));
  const moves = after.map((failure) => {
    const [old, now] = [lines.get(keyOf(failure)) ?? 0, lineOf(failure)];
    return old === 0 || now === 0 ? 0 : Math.sign(now - old);
  });
  return moves.includes(1) && !moves.includes(-1);
}

/**
 * Whether an edit helped: fewer tests fail and none that passed. `before` is a run of the whole suite; `after` may be
 * one of the failing files only, whose count of passing tests says nothing.
 */
export function helped(before: TestReport, after: TestReport, isWhole: boolean): Help {
  if (after.failed === 0) return after.passed > 0 ? 'yes' : 'no';
  const isComplete = after.failures.length >= after.failed && before.failures.length >= before.failed;
  if (!isComplete) {
    return isWhole && after.failed < before.failed && after.passed > before.passed ? 'yes' : 'no';
  }
  const known = new Set(before.failures.map(keyOf));
  if (after.failures.some((failure) => !known.has(keyOf(failure)))) return 'no';
  if (isWhole && after.passed < before.passed) return 'no';
  if (after.failed < before.failed) return 'yes';
  return comesFurther(before.failures, after.failures) ? 'further' : 'no';
}

/** A whole run whose output was cut, with the failures that a run of one file shows. */
export function addPart(whole: TestReport, part: TestReport): TestReport {
  const files = new Set(part.failures.map((failure) => failure.file));
  const others = whole.failures.filter((failure) => !files.has(failure.file));
  return { ...whole, failures: [...others, ...part.failures] };
}
