import type { TestOutcome } from './test-outcome.ts';

/** What one run of one test file told. */
export interface FileRun {
  /** Path of the file. */
  readonly file: string;
  readonly outcomes: readonly TestOutcome[];
}

/** More failing files than this are no accident of the machine: none of them is run again. */
const mostSecondRuns = 3;

const failedOf = ({ outcomes }: FileRun): readonly TestOutcome[] =>
  outcomes.filter(({ outcome }) => outcome === 'failed');

/**
 * The files that are run once more, alone: tests of real parts run two files at a time, and a machine that stands still
 * for seconds, or a neighbour, can fail one that is right.
 */
export function filesToRunAgain(runs: readonly FileRun[]): readonly string[] {
  const failed = runs.filter((run) => failedOf(run).length > 0);
  return failed.length > mostSecondRuns ? [] : failed.map(({ file }) => file);
}

/**
 * What counts after the second run of a file. One that fails again is judged by its second run,
 * one whose second run told nothing by its first; one that passes alone
 * counts as passed, and what failed before is named as unsteady, with its errors, until somebody finds the cause.
 */
export function settle(
  first: FileRun,
  again: FileRun | undefined,
): { readonly outcomes: readonly TestOutcome[]; readonly unsteady: readonly TestOutcome[] } {
  if (again === undefined || again.outcomes.length === 0) return { outcomes: first.outcomes, unsteady: [] };
  return { outcomes: again.outcomes, unsteady: failedOf(again).length === 0 ? failedOf(first) : [] };
}
