import { parseSpecFailures } from './test-report-spec.ts';
import { parseTapFailures } from './test-report-tap.ts';
import type { TestFailure } from './test-failure.ts';

/** A run of node's own test runner, read from its output (spec or TAP reporter). */
export interface TestReport {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly TestFailure[];
}

const colours = /\u001B\[[0-9;]*m/g;
const count = (output: string, word: string): number | undefined => {
  const found = [...output.matchAll(new RegExp(`^[#ℹ] ${word} (\\d+)$`, 'gm'))].at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
};

/** Reads the output of a test run; undefined when it holds no summary of node's test runner. */
export function readTestReport(rawOutput: string): TestReport | undefined {
  const output = rawOutput.replace(colours, '').replaceAll('\r\n', '\n');
  const passed = count(output, 'pass');
  const failed = count(output, 'fail');
  if (passed === undefined || failed === undefined) return undefined;
  const cancelled = count(output, 'cancelled') ?? 0;
  const failures = /^not ok /m.test(output) ? parseTapFailures(output) : parseSpecFailures(output);
  return { passed, failed: failed + cancelled, failures };
}
