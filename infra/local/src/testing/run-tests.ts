import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { readLines } from '@lemniscate/shared/text/lines.ts';
import { signalGroup } from '../process/leftovers.ts';
import { testOutcomeSchema } from './test-outcome.ts';
import type { TestOutcome } from './test-outcome.ts';

/** Characters of one outcome: an assertion can show two whole values. */
const longestOutcome = 64 * 1024 * 1024;

/** How test files are run: all that are given, in one process. */
export interface TestRun {
  readonly files: readonly string[];
  /** How long one test may take, in milliseconds. */
  readonly testTimeoutMs: number;
  /** How long the process may take, in milliseconds: a handle that a test left open keeps it running. */
  readonly wholeTimeoutMs: number;
  /** Ends the run when it aborts. */
  readonly stopped: AbortSignal;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How the process ended. */
export interface TestRunEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  /** The last of what the tests printed. */
  readonly output: string;
}

const keptOutput = 20_000;

/**
 * Runs test files with Node's own runner in a child process and hands over each outcome as it comes. Node's process
 * isolation is not used: a file that does not end there holds up the whole run, and no option bounds it.
 */
export async function runTests(run: TestRun, onOutcome: (outcome: TestOutcome) => void): Promise<TestRunEnd> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-isolation=none',
      `--test-timeout=${run.testTimeoutMs}`,
      `--test-reporter=${join(import.meta.dirname, 'outcome-reporter.ts')}`,
      '--test-reporter-destination=stdout',
      ...run.files,
    ],
    // a group of its own, so that what tests leave behind is ended with it
    { cwd: run.cwd, env: run.env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], detached: true },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-keptOutput);
    });
  const endGroup = () => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  };
  let timedOut = false;
  const deadline = setTimeout(() => {
    timedOut = true;
    endGroup();
  }, run.wholeTimeoutMs);
  run.stopped.addEventListener('abort', endGroup);
  const exited = new Promise<Pick<TestRunEnd, 'exitCode' | 'signal'>>((settle, fail) => {
    child.once('error', fail);
    child.once('exit', (exitCode, signal) => {
      // what it left behind in its group would hold the pipes open
      endGroup();
      settle({ exitCode, signal });
    });
  });
  try {
    const [end] = await Promise.all([exited, readOutcomes(child.stdio[3] as Readable, onOutcome)]);
    return { ...end, timedOut, output };
  } finally {
    endGroup();
    clearTimeout(deadline);
    run.stopped.removeEventListener('abort', endGroup);
  }
}

async function readOutcomes(from: Readable, onOutcome: (outcome: TestOutcome) => void): Promise<void> {
  for await (const { text } of readLines(from, longestOutcome))
    onOutcome(testOutcomeSchema.parse(JSON.parse(text ?? tooLong())));
}

function tooLong(): never {
  throw new Error(`a test told an outcome of more than ${longestOutcome} characters`);
}
