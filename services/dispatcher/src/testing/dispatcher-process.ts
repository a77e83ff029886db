import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RunningDispatcher } from '../start-dispatcher.ts';

const readyWithinMs = 60_000;
const stopWithinMs = 20_000;

/** A dispatcher as it is shipped: `main.ts` in a process of its own, with nothing but these variables. */
export async function startDispatcherProcess(
  environment: Readonly<Record<string, string>>,
): Promise<RunningDispatcher> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../main.ts')], {
    env: { PATH: process.env['PATH'] ?? '', LEMNISCATE_EXIT_WITH_PARENT: 'true', ...environment },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  // Awaited by whoever stops it; until then nobody hears of it.
  ended.catch(() => undefined);
  const { promise: ready, resolve } = Promise.withResolvers<{ publicPort: number; internalPort: number }>();
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    if (said.length > 20) said.shift();
    if (line.includes('the dispatcher is ready')) resolve(JSON.parse(line));
  });
  const late = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('it is not ready in time')), readyWithinMs);
    void ready.finally(() => clearTimeout(timer));
    void ended.then(([code]) => {
      clearTimeout(timer);
      reject(new Error(`it ended with ${code}`));
    });
  });
  // Heard in the race below; where that is over first, it is about nothing any more.
  late.catch(() => undefined);
  const { publicPort, internalPort } = await Promise.race([ready, late]).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`a dispatcher did not start: ${String(error)}\n${said.join('\n')}`);
  });
  return {
    publicPort,
    internalPort,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await ended.finally(() => clearTimeout(killer));
    },
  };
}
