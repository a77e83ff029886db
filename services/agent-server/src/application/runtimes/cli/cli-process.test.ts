import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { createLogger } from '../../../log.ts';
import type { Sandbox } from '../../ports/sandbox-driver.ts';
import { startCli } from './cli-process.ts';

const marker = 'PLANTEDprogramMARKER';

/** A sandbox in which a program has written this. */
function sandboxThatSays(output: readonly { stream: 'stdout' | 'stderr'; text: string }[]): Sandbox {
  async function* said() {
    for (const { stream, text } of output) yield { stream, bytes: Buffer.from(text) };
  }
  const end = Promise.resolve({ exitCode: 1, signal: null, timedOut: false, outputCut: false });
  return { run: () => ({ output: said(), end, kill: () => undefined }) } as unknown as Sandbox;
}

test('what a program writes that is no message is counted in the log and never quoted', async () => {
  const lines: string[] = [];
  const program = startCli(
    {
      sandbox: sandboxThatSays([
        { stream: 'stderr', text: `Error: cannot read /workspace/${marker}\n` },
        { stream: 'stdout', text: `${marker} of a prompt\n{"type":"system"}\n` },
      ]),
      log: createLogger({ write: (line) => void lines.push(line) }),
      order: { sessionId: 's_1' } as SessionOrder,
      signal: new AbortController().signal,
    },
    { argv: ['claude'], env: {} },
  );
  const messages = await Array.fromAsync(program.messages);
  assert.deepEqual(messages, [{ type: 'system' }]);
  // whoever may see the session reads its last words there
  assert.ok(program.lastWords().includes(marker));
  const record = JSON.parse(lines.join('')) as Record<string, unknown>;
  assert.deepEqual(
    [record['sessionId'], record['characters'], record['msg']],
    ['s_1', `${marker} of a prompt`.length, 'not a message of the program'],
  );
  assert.doesNotMatch(lines.join(''), new RegExp(marker));
});

/** A sandbox that is this machine: the program is a script that really runs. */
function sandboxWith(script: string): Sandbox {
  return {
    run: ({ input, signal }: { input: PassThrough; signal: AbortSignal }) => {
      const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
      input.pipe(child.stdin);
      signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
      const end = once(child, 'exit').then(([exitCode, killedBy]) => ({
        exitCode: exitCode as number | null,
        signal: killedBy as string | null,
      }));
      async function* said() {
        for await (const bytes of child.stdout) yield { stream: 'stdout', bytes: bytes as Buffer };
      }
      return { output: said(), end };
    },
  } as unknown as Sandbox;
}

/** Says its result as soon as it is asked, and then does this. */
const script = (then: string): string =>
  `process.stdin.once('data', () => console.log(JSON.stringify({ type: 'result' })));
   process.stdin.on('end', () => { ${then} });`;

for (const [what, then, killed] of [
  ['leaves when its input ends', 'process.exit(3)', false],
  ['hangs after its result', 'console.log("{}"); setInterval(() => {}, 1_000)', true],
] as const)
  test(`a program that ${what} is ${killed ? 'killed after a moment' : 'let go by itself'}`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const program = startCli(
      {
        sandbox: sandboxWith(script(then)),
        log: createLogger({ write: () => undefined }),
        order: { sessionId: 's_1' } as SessionOrder,
        signal: new AbortController().signal,
      },
      { argv: ['claude'], env: {} },
    );
    program.send({ type: 'user' });
    assert.deepEqual(await program.messages.next(), { value: { type: 'result' }, done: false });
    const left = program.leave();
    if (killed) {
      // it has seen the end of its input and stays
      assert.deepEqual(await program.messages.next(), { value: {}, done: false });
      t.mock.timers.tick(4_999);
      assert.equal(await Promise.race([left, Promise.resolve('still there')]), 'still there');
      t.mock.timers.tick(1);
    }
    const { exitCode, signal } = await left;
    assert.deepEqual([exitCode, signal], killed ? [null, 'SIGKILL'] : [3, null]);
  });
