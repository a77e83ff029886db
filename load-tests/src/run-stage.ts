import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process, and how long it may take. */
export interface StageProcess {
  /** A script for this Node, and its arguments. */
  readonly args: readonly string[];
  readonly limitMs: number;
  /** How long it may clean up after SIGTERM, in milliseconds. */
  readonly graceMs: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/**
 * Runs one stage with our output as its own.
 * @returns its exit code; 1 where a signal ended it; `too long` where its time was over
 */
export async function runStage({
  args,
  limitMs,
  graceMs,
  signal,
}: StageProcess): Promise<number | 'too long'> {
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const timers: NodeJS.Timeout[] = [];
  const end = (): void => {
    child.kill('SIGTERM');
    timers.push(setTimeout(() => child.kill('SIGKILL'), graceMs));
  };
  let isOver = false;
  timers.push(
    setTimeout(() => {
      isOver = true;
      end();
    }, limitMs),
  );
  signal.addEventListener('abort', end);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return isOver ? 'too long' : (code ?? 1);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
