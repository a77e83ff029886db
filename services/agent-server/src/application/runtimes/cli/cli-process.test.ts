import assert from 'node:assert/strict';
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
