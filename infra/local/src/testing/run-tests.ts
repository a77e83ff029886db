import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { testEventSchema } from './test-event.ts';
import type { TestEvent } from './test-event.ts';

/** How a set of test files is run. */
export interface TestRun {
  readonly files: readonly string[];
  /** `none`: all in one process; `process`: each file in its own. */
  readonly isolation: 'none' | 'process';
  /** Files at a time, where each has its process. */
  readonly concurrency: number;
  /** How long one test may take, in milliseconds. */
  readonly testTimeoutMs: number;
  /** How long all of them may take, in milliseconds. */
  readonly wholeTimeoutMs: number;
  /** Ends the run when it aborts. */
  readonly stopped: AbortSignal;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How the runner's process ended. */
export interface TestRunEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
}

/** Runs test files with Node's own runner in a child process and hands over each event as it comes. */
export async function runTests(run: TestRun, onEvent: (event: TestEvent) => void): Promise<TestRunEnd> {
  const isolation =
    run.isolation === 'none'
      ? ['--test-isolation=none']
      : ['--test-isolation=process', `--test-concurrency=${run.concurrency}`];
  const child = spawn(
    process.execPath,
    [
      '--test',
      ...isolation,
      `--test-timeout=${run.testTimeoutMs}`,
      `--test-reporter=${join(import.meta.dirname, 'event-reporter.ts')}`,
      // a descriptor of its own: what tests print must not be taken for events
      '--test-reporter-destination=/dev/fd/3',
      ...run.files,
    ],
    // a group of its own, so that what tests leave behind can be ended with it
    { cwd: run.cwd, env: run.env, stdio: ['ignore', 2, 2, 'pipe'], detached: true },
  );
  let timedOut = false;
  const endGroup = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  const deadline = setTimeout(() => {
    timedOut = true;
    endGroup();
  }, run.wholeTimeoutMs);
  run.stopped.addEventListener('abort', endGroup);
  const closed = new Promise<Omit<TestRunEnd, 'timedOut'>>((settle, fail) => {
    child.once('error', fail);
    child.once('exit', (exitCode, signal) => settle({ exitCode, signal }));
  });
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdio[3] as Readable }))
      onEvent(testEventSchema.parse(JSON.parse(line)));
  })();
  const end = await closed;
  endGroup();
  await reading;
  clearTimeout(deadline);
  run.stopped.removeEventListener('abort', endGroup);
  return { ...end, timedOut };
}
