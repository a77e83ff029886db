import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

export interface ExporterProcess {
  readonly child: ChildProcess;
  /** What it has written to stderr. */
  log(): string;
  /** Sends a signal and resolves with the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

/** The real exporter in a process of its own; it also ends when the test's process does. */
export function startExporterProcess(environment: Readonly<Record<string, string>>): ExporterProcess {
  const child = spawn(process.execPath, [main], {
    env: { LEMNISCATE_EXIT_WITH_PARENT: 'true', ...environment },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-64 * 1024);
  });
  return {
    child,
    log: () => text,
    end: async (signal) => {
      child.kill(signal);
      const [code, by] = (await exited) as [number | null, NodeJS.Signals | null];
      return code ?? by;
    },
  };
}

/**
 * Waits for a state, not for time: asks until the answer is there.
 * @throws after the deadline, with what was asked for
 */
export async function until(
  what: string,
  ask: () => Promise<boolean> | boolean,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
