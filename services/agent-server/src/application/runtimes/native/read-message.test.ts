import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { streamOf } from '@lemniscate/shared/testing/upstream/anthropic-answer.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import type { DraftChange } from './message-draft.ts';
import { readMessage } from './read-message.ts';

/** The stream in pieces of so many bytes, which fall where they fall. */
async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, size = text.length > 1_000_000 ? 65_536 : 5) {
  const changes: DraftChange[] = [];
  const message = await readMessage(pieces(text, size), async (change) => void changes.push(change));
  return { message, changes };
}
const whole = (turn: ScriptedTurn) => streamOf(turn).join('');

suite('a streamed message', () => {
  const turn: ScriptedTurn = {
    blocks: [
      { text: 'Grüße 😀 an alle' },
      { id: 'call', tool: 'run_command', input: { command: 'echo "é😀"' } },
    ],
  };

  for (const size of [1, 2, 3, 7, 4096]) {
    test(`is the same in pieces of ${size} bytes`, async () => {
      const { message, changes } = await read(whole(turn), size);
      assert.deepEqual(message, {
        stopReason: 'tool_use',
        blocks: [
          { kind: 'text', text: 'Grüße 😀 an alle' },
          {
            kind: 'tool_use',
            id: 'call',
            name: 'run_command',
            argumentsText: '{"command":"echo \\"é😀\\""}',
            whole: true,
          },
        ],
      });
      const text = changes.map((change) => (change?.kind === 'text' ? change.text : '')).join('');
      assert.equal(text, 'Grüße 😀 an alle');
      const asked = changes.findIndex((change) => change?.kind === 'tool');
      assert.deepEqual(changes[asked], { kind: 'tool', id: 'call', name: 'run_command' });
      assert.ok(changes.slice(asked + 1).every((change) => change?.kind === 'arguments'));
      assert.deepEqual(changes.at(-1), {
        kind: 'arguments',
        id: 'call',
        text: '{"command":"echo \\"é😀\\""}',
      });
    });
  }

  test('a request without a fragment asks with an empty object, unless the output limit cut it', async () => {
    const blocks = [{ id: 'call', tool: 'list_files', rawArguments: '' }];
    const complete = await read(whole({ blocks }));
    assert.deepEqual(complete.message.blocks[0], {
      kind: 'tool_use',
      id: 'call',
      name: 'list_files',
      argumentsText: '{}',
      whole: true,
    });
    const cut = await read(whole({ blocks, stopReason: 'max_tokens' }));
    assert.deepEqual(cut.message.blocks[0], {
      kind: 'tool_use',
      id: 'call',
      name: 'list_files',
      argumentsText: '',
      whole: false,
    });
  });

  test('thinking goes back as it came, unknown events are skipped', async () => {
    const events = [
      { type: 'message_start', message: {} },
      { type: 'ping' },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'some_new_delta', x: 1 } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'xyz' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ];
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    assert.deepEqual((await read(text)).message.blocks, [
      { kind: 'opaque', block: { type: 'thinking', thinking: 'hm', signature: 'sig' } },
      { kind: 'opaque', block: { type: 'redacted_thinking', data: 'xyz' } },
    ]);
  });
});

suite('a broken stream is a passing fault of the provider', () => {
  const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  const open = (index: number, id = 'a') =>
    event({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name: 'x', input: {} },
    });
  const broken: Record<string, string> = {
    'a line without an end': `data: ${'x'.repeat(9 * 1024 * 1024)}`,
    'cut before its end': streamOf({ blocks: [{ text: 'abc' }] })
      .slice(0, 3)
      .join(''),
    empty: '',
    'not JSON': 'data: {"type": \n\n',
    'an error event': event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }),
    'a block out of order': open(1),
    'a fragment of a block that is not open': event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'x' },
    }),
    'two requests with one id': open(0) + event({ type: 'content_block_stop', index: 0 }) + open(1),
    'a request without a name': event({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'a' },
    }),
  };
  for (const [what, text] of Object.entries(broken)) {
    test(what, async () => {
      await assert.rejects(read(text), (error: { code?: string; details?: { retryable?: boolean } }) => {
        assert.equal(error.code, 'provider_failed');
        assert.equal(error.details?.retryable, true);
        return true;
      });
    });
  }
});
