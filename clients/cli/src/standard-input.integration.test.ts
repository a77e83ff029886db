import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodes } from './io.ts';

const main = join(import.meta.dirname, 'main.ts');
/** More than the line between the two holds, so that it is written only when somebody reads. */
const long = ' '.repeat(500_000);
const reading = [
  [['policy', 'judge'], `{"command":"ls"}${long}\n`],
  [['costs', 'replay'], `{"id":"a"}${long}\n`],
  [['policy', 'check', '-'], `# a policy${long}\n`],
] as const;

for (const [words, line] of reading)
  test(`the first Ctrl-C ends "${words.join(' ')}" while it waits for more input`, async (context) => {
    const child = spawn(process.execPath, [main, ...words], { stdio: ['pipe', 'ignore', 'pipe'] });
    context.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
    const read = Promise.withResolvers<void>();
    child.stdin.write(line, (error) => (error ? read.reject(error) : read.resolve()));
    await read.promise;
    child.kill('SIGINT');
    assert.deepEqual(await ended, [exitCodes.interrupted, null]);
  });
