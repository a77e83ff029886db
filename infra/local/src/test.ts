import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import pc from 'picocolors';
import { readLocalConfig } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import { programs, requirePrograms } from './packages.ts';
import { openPortBook } from './port-book.ts';
import { projectRoot } from './project-root.ts';
import { runMain } from './run-main.ts';
import { startStores } from './stores.ts';
import { findDockerEngine } from './testing/docker-engine.ts';
import { runTests } from './testing/run-tests.ts';
import type { TestRun } from './testing/run-tests.ts';
import { countIn, closingLine, emptyTally, refuseSkips } from './testing/tally.ts';
import type { Tally } from './testing/tally.ts';
import type { TestEvent, TestOutcome } from './testing/test-event.ts';
import { findTestFiles, needsEngine, shownPath } from './testing/test-files.ts';
import { createUnwinding } from './unwinding.ts';
import type { Unwinding } from './unwinding.ts';

// `npm test [-- PATTERN]`: sets up what tests need, runs the unit tests in one process and every integration file in
// its own, and ends with one line that says how many passed, failed and were skipped.

const say = (line: string) => console.log(line);

await runMain(async (stopped) => {
  const pattern = process.argv[2];
  const files = findTestFiles(projectRoot, pattern);
  if (files.unit.length + files.integration.length === 0) {
    say(`No test file has ${pattern ?? '.test.ts'} in its path. Give a part of a path, or nothing for all.`);
    return 2;
  }
  const unwinding = createUnwinding();
  let tally = emptyTally;
  try {
    tally = await runGroup(tally, 'unit', unitRun(files.unit, stopped));
    if (files.integration.length > 0 && !stopped.aborted) {
      const env = await bringUpParts(files.integration, unwinding);
      tally = await runGroup(tally, 'integration', integrationRun(files.integration, env, stopped));
    }
  } finally {
    await unwinding.run();
  }
  if (stopped.aborted) return 130;
  if (process.env['CI'] === 'true') tally = refuseSkips(tally, allowedSkips());
  showEnd(tally);
  return tally.failed.length > 0 ? 1 : 0;
});

function unitRun(files: readonly string[], stopped: AbortSignal): TestRun {
  const bounds = { testTimeoutMs: 60_000, wholeTimeoutMs: 10 * 60_000 };
  return { files, isolation: 'none', concurrency: 1, ...bounds, stopped, cwd: projectRoot, env: process.env };
}

function integrationRun(files: readonly string[], env: TestRun['env'], stopped: AbortSignal): TestRun {
  const bounds = { testTimeoutMs: 10 * 60_000, wholeTimeoutMs: 60 * 60_000 };
  const concurrency = Math.min(2, availableParallelism());
  return { files, isolation: 'process', concurrency, ...bounds, stopped, cwd: projectRoot, env };
}

/** Starts Postgres, Redis and S3 once for all files; each test makes its own database, prefix or bucket. */
async function bringUpParts(files: readonly string[], unwinding: Unwinding): Promise<TestRun['env']> {
  const { setpriv, redis, bubblewrap, git, zstd, tar } = programs;
  requirePrograms([setpriv, redis, bubblewrap, git, zstd, tar], say);
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-test-'));
  unwinding.add(() => rmSync(folder, { recursive: true, force: true }));
  const data = openDataFolder({ LEMNISCATE_DATA: folder }, projectRoot);
  const stores = await startStores(data, openPortBook(data), readLocalConfig({}), { durable: false });
  unwinding.add(stores.stop);
  const engine = files.some(needsEngine)
    ? await findDockerEngine(openDataFolder(process.env, projectRoot), process.env, say)
    : undefined;
  if (engine !== undefined && 'missing' in engine) say(pc.yellow(`no container engine: ${engine.missing}`));
  if (engine !== undefined && 'stop' in engine) unwinding.add(engine.stop);
  return {
    ...process.env,
    LEMNISCATE_TEST_DATABASE_URL: stores.databaseUrl,
    LEMNISCATE_TEST_REDIS_URL: stores.redisUrl,
    LEMNISCATE_TEST_S3_ENDPOINT: stores.s3.endpoint,
    ...(engine !== undefined && 'host' in engine ? { DOCKER_HOST: engine.host } : {}),
  };
}

async function runGroup(before: Tally, name: string, run: TestRun): Promise<Tally> {
  if (run.files.length === 0) return before;
  let tally = before;
  const from = performance.now();
  const outputs = new Map<string, string>();
  const end = await runTests(run, (event) => {
    tally = countIn(tally, event);
    show(event, outputs);
  });
  const failedHere = tally.failed.length - before.failed.length;
  // an exit that no failed test explains: a crash of the runner, or a run that did not end
  if (!run.stopped.aborted && failedHere === 0 && (end.exitCode !== 0 || end.timedOut)) {
    const how = end.timedOut
      ? `did not end within ${run.wholeTimeoutMs} ms`
      : `ended with ${end.signal ?? end.exitCode}`;
    const test: TestOutcome = {
      kind: 'test',
      outcome: 'failed',
      path: [`the ${name} tests ${how}`],
      durationMs: 0,
    };
    tally = countIn(tally, test);
    showFailure(test);
  }
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  say(`${name}: ${run.files.length} files, ${tally.passed - before.passed} passed, ${seconds} s`);
  return tally;
}

const keptOutput = 20_000;

/** Shows failures at once and in full, with what their file printed; a file's line when it has a process of its own. */
function show(event: TestEvent, outputs: Map<string, string>): void {
  const file = event.file ?? '';
  if (event.kind === 'output') outputs.set(file, ((outputs.get(file) ?? '') + event.text).slice(-keptOutput));
  if (event.kind === 'test' && event.outcome === 'failed') showFailure(event);
  if (event.kind !== 'file') return;
  const mark = event.failed > 0 ? pc.red('failed') : pc.green('passed');
  say(`${mark} ${shownPath(projectRoot, event.file)} (${Math.round(event.durationMs)} ms)`);
  const output = outputs.get(file);
  if (event.failed > 0 && output !== undefined) say(pc.dim(`  its output:\n${output}`));
  outputs.delete(file);
}

function showFailure(test: TestOutcome): void {
  say(`${pc.red('failed')} ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')}`);
  if (test.error !== undefined) say(test.error.replaceAll(/^/gm, '  '));
}

function showEnd(tally: Tally): void {
  for (const test of tally.skipped)
    say(
      `${pc.yellow('skipped')} ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')} (${test.reason})`,
    );
  if (tally.failed.length > 0) say(pc.red('\nfailed:'));
  for (const test of tally.failed) say(`  ${shownPath(projectRoot, test.file)}: ${test.path.join(' › ')}`);
  say(closingLine(tally.passed, tally.failed.length, tally.skipped.length));
}

function allowedSkips(): Record<string, string> {
  const file = join(projectRoot, 'infra/local/allowed-skips.json');
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
}
