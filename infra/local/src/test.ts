import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { colours } from './colours.ts';
import { projectRoot } from './project-root.ts';
import { runMain } from './run-main.ts';
import { runTests } from './testing/run-tests.ts';
import type { TestRun, TestRunEnd } from './testing/run-tests.ts';
import { filesToRunAgain, settle } from './testing/second-run.ts';
import type { FileRun } from './testing/second-run.ts';
import { closingLine, countIn, emptyTally, errorStart, refuseSkips } from './testing/tally.ts';
import type { Tally } from './testing/tally.ts';
import { findTestFiles, shownPath } from './testing/test-files.ts';
import type { TestOutcome } from './testing/test-outcome.ts';
import { bringUpTestParts } from './testing/test-parts.ts';
import { createUnwinding } from './unwinding.ts';

// `npm test [-- PATTERN…]`: sets up what tests need, runs the unit tests in one process and every integration file in
// its own, what failed once more and alone, and ends with one line that says how many passed, failed and were skipped.

const say = (line: string) => console.log(line);
const unitBounds = { testTimeoutMs: 60_000, wholeTimeoutMs: 10 * 60_000 };
const integrationBounds = { testTimeoutMs: 10 * 60_000, wholeTimeoutMs: 15 * 60_000 };

async function main(stopped: AbortSignal): Promise<number> {
  const patterns = process.argv.slice(2);
  const files = findTestFiles(projectRoot, ...patterns);
  if (files.unit.length + files.integration.length === 0) {
    say(
      `No test file has ${patterns.join(' or ') || '.test.ts'} in its path. Give a part of a path, or nothing for all.`,
    );
    return 2;
  }
  const run = async (name: string, set: Omit<TestRun, 'stopped' | 'cwd'>): Promise<TestOutcome[]> =>
    set.files.length === 0 || stopped.aborted ? [] : runSet(name, { ...set, stopped, cwd: projectRoot });
  const units = await run('unit tests', { files: files.unit, ...unitBounds, env: process.env });
  let tally = units.reduce(countIn, emptyTally);
  const unwinding = createUnwinding();
  try {
    if (files.integration.length > 0 && !stopped.aborted) {
      const env = await bringUpTestParts(files.integration, unwinding, say);
      const runFile = (file: string, more = '') =>
        run(`${shownPath(projectRoot, file)}${more}`, { files: [file], ...integrationBounds, env });
      tally = await runIntegration(files.integration, runFile, tally);
    }
  } finally {
    await unwinding.run();
  }
  if (stopped.aborted) return 130;
  if (process.env['CI'] === 'true') tally = refuseSkips(tally, allowedSkips());
  showEnd(tally);
  return tally.failed.length > 0 ? 1 : 0;
}

/** Runs every file, and what failed once more, alone. */
async function runIntegration(
  files: readonly string[],
  run: (file: string, more?: string) => Promise<TestOutcome[]>,
  before: Tally,
): Promise<Tally> {
  const runs: FileRun[] = [];
  await eachOf(files, async (file) => void runs.push({ file, outcomes: await run(file) }));
  const again = new Map<string, FileRun>();
  for (const file of filesToRunAgain(runs))
    again.set(file, { file, outcomes: await run(file, ', again and alone') });
  const settled = runs.map((first) => settle(first, again.get(first.file)));
  showUnsteady(settled.flatMap(({ unsteady }) => unsteady));
  return settled.flatMap(({ outcomes }) => outcomes).reduce(countIn, before);
}

/** Two at a time: real parts wait more than they compute. */
async function eachOf(files: readonly string[], run: (file: string) => Promise<void>): Promise<void> {
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await run(file);
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
}

/** Runs one process of tests and shows what failed, at once and in full. */
async function runSet(name: string, run: TestRun): Promise<TestOutcome[]> {
  const from = performance.now();
  const outcomes: TestOutcome[] = [];
  const end = await runTests(run, (outcome) => {
    outcomes.push(outcome);
    if (outcome.outcome === 'failed') showFailure(outcome);
  });
  const unexplained = unexplainedEnd(name, run, end, outcomes);
  if (unexplained !== undefined) {
    outcomes.push(unexplained);
    showFailure(unexplained);
  }
  const failed = outcomes.some(({ outcome }) => outcome === 'failed');
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  say(
    `${failed ? colours.red('failed') : colours.green('passed')} ${name} (${outcomes.length} tests, ${seconds} s)`,
  );
  if (failed && end.output !== '') say(colours.dim(end.output.trimEnd().replaceAll(/^/gm, '  | ')));
  return outcomes;
}

/** An end that no failed test explains: a file that cannot be loaded, a crash, a process that goes on for ever. */
function unexplainedEnd(
  name: string,
  run: TestRun,
  end: TestRunEnd,
  outcomes: readonly TestOutcome[],
): TestOutcome | undefined {
  const file = run.files.length === 1 ? run.files[0] : undefined;
  const fail = (what: string): TestOutcome => ({
    outcome: 'failed',
    path: [`${name} ${what}`],
    file,
    durationMs: 0,
    ...(end.output === '' ? {} : { error: `It printed last:\n${end.output.slice(-1_500)}` }),
  });
  if (run.stopped.aborted) return undefined;
  if (end.timedOut) return fail(`did not end within ${run.wholeTimeoutMs / 1000} s`);
  if (outcomes.length === 0) return fail(`ran no test and ended with ${end.signal ?? end.exitCode}`);
  const isExplained = end.exitCode === 0 || outcomes.some(({ outcome }) => outcome === 'failed');
  return isExplained ? undefined : fail(`ended with ${end.signal ?? end.exitCode}`);
}

function showFailure(test: TestOutcome): void {
  say(`${colours.red('failed')} ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')}`);
  if (test.error !== undefined) say(test.error.replaceAll(/^/gm, '  '));
}

function showUnsteady(unsteady: readonly TestOutcome[]): void {
  if (unsteady.length > 0) say(colours.yellow('unsteady (failed beside another file, passed alone):'));
  unsteady.forEach(showShortly);
}

function showShortly(test: TestOutcome): void {
  say(`  ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')}`);
  say(errorStart(test.error ?? '(no error was told)').replaceAll(/^/gm, '    '));
}

function showEnd(tally: Tally): void {
  for (const test of tally.skipped)
    say(
      `${colours.yellow('skipped')} ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')} (${test.reason})`,
    );
  if (tally.failed.length > 0) say(colours.red('failed:'));
  tally.failed.forEach(showShortly);
  say(closingLine(tally.passed, tally.failed.length, tally.skipped.length));
}

function allowedSkips(): Record<string, string> {
  const file = join(projectRoot, 'infra/local/allowed-skips.json');
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
}

await runMain(main);
