import { resolveImport } from './knowledge.ts';
import type { Knowledge } from './knowledge.ts';
import { candidateKey } from './repair/candidates.ts';
import type { Candidate } from './repair/candidates.ts';
import { rankCandidates } from './repair/rank.ts';
import { remembering } from './repair/ranked-memo.ts';
import type { TestReport } from './repair/test-report.ts';
import { editBetween } from './repair/text-edit.ts';
import { readSuspects, relativeTo } from './suspects.ts';
import type { Suspects } from './suspects.ts';

/** A session ends at its policy's bound of actions, 150 by default; what is on trial must be taken back before. */
const mostTries = 55;
const mostExchanges = 138;
// A run of one file after the other, when a whole run says too much to be read.
const mostParts = 8;

/** The next edit: a repair in place of the one that did not help, a repair, or the old text. */
export interface NextStep {
  readonly kind: 'try' | 'switch' | 'undo' | 'undo-half';
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly what: string;
}

const rank = remembering(rankCandidates);

function step(
  kind: NextStep['kind'],
  path: string,
  before: string,
  after: string,
  what: string,
): NextStep | undefined {
  const edit = editBetween(before, after);
  return edit === undefined ? undefined : { kind, path, what, ...edit };
}

function findCandidate(
  known: Knowledge,
  report: TestReport,
  suspects: Suspects,
  exchanges: number,
): Candidate | undefined {
  if (known.tries >= mostTries || exchanges >= mostExchanges) return undefined;
  const listing = known.listing ?? [];
  const ranked = rank({
    failures: report.failures.map((failure) => relativeTo(failure, listing)),
    ...readSuspects(suspects, known),
    resolve: (importer, specifier) => resolveImport(importer, specifier, listing),
  });
  return ranked.find((candidate) => !known.tried.has(candidateKey(candidate)));
}

/** What to edit next; undefined when nothing is left to try and nothing to take back. */
export function findNextStep(
  known: Knowledge,
  report: TestReport,
  suspects: Suspects,
  exchanges: number,
): NextStep | undefined {
  const { trial } = known;
  const candidate = findCandidate(known, report, suspects, exchanges);
  if (trial !== undefined) {
    // One edit takes the old repair back and makes the new one: a try then costs two calls instead of three.
    return candidate?.path === trial.path
      ? step('switch', trial.path, trial.after, candidate.after, candidate.what)
      : step('undo', trial.path, trial.after, trial.before, '');
  }
  if (candidate !== undefined) {
    return step(
      'try',
      candidate.path,
      known.files.get(candidate.path) ?? '',
      candidate.after,
      candidate.what,
    );
  }
  const half = known.kept.at(-1);
  return half?.isHalf === true ? step('undo-half', half.path, half.after, half.before, '') : undefined;
}

/** Whether the output of a run was cut so that it does not name all that failed. */
export function isIncomplete(report: TestReport): boolean {
  return report.failures.length < report.failed;
}

/** The command that runs the next test file by itself, when a whole run has not named all that failed. */
export function nextPart(
  known: Knowledge,
  report: TestReport,
  tests: readonly string[],
  commandFor: (file: string) => string,
): string {
  if (!isIncomplete(report) || known.partRuns.size >= mostParts) return '';
  return tests.map(commandFor).find((command) => command !== '' && !known.partRuns.has(command)) ?? '';
}
