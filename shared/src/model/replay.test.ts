import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readPinnedPriceBook } from './genai-prices-book.ts';
import { replayLine } from './replay-lines.ts';
import { replay } from './testing.ts';

interface Example {
  readonly id: string;
  readonly why: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

const lines = readFileSync(new URL('./fixtures/cost-examples.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '');
const book = readPinnedPriceBook();

describe('the worked examples', () => {
  test('there are examples', () => assert.ok(lines.length >= 12));

  for (const line of lines) {
    const example = JSON.parse(line) as Example;
    test(`${example.id}: ${example.why}`, () => {
      const { costUsd: _, costUsdExact, ...expected } = example.expected;
      const result = JSON.parse(replayLine(line, book).text) as Record<string, unknown>;
      const compared = Object.fromEntries(Object.keys(expected).map((name) => [name, result[name]]));
      assert.deepEqual(compared, expected);
      assert.equal(result['costUsd'], costUsdExact);
    });

    test(`${example.id} costs the same by the pinned price book`, () => {
      const { prices: _, ...call } = JSON.parse(line) as Record<string, unknown>;
      const result = JSON.parse(replayLine(JSON.stringify(call), book).text) as Record<string, unknown>;
      assert.equal(result['costUsd'], example.expected['costUsdExact']);
    });
  }
});

describe('the API may be told as a name, a path or an endpoint', () => {
  const usages = {
    messages: { input_tokens: 3, output_tokens: 2 },
    responses: { input_tokens: 3, output_tokens: 2 },
    chat: { prompt_tokens: 3, completion_tokens: 2 },
  };
  const spellings: readonly (readonly [keyof typeof usages, readonly string[]])[] = [
    ['messages', ['messages', '/v1/messages', 'beta.messages', 'anthropic-messages', 'messages_batches']],
    ['responses', ['responses', 'v1/responses', 'openai-responses', 'openai.responses', 'Responses']],
    ['chat', ['chat.completions', 'v1/chat/completions', '/v1/chat/completions', 'chat_completions', 'chat']],
  ];
  for (const [kind, apis] of spellings)
    test(kind, () => {
      const objects = { messages: 'message', responses: 'response', chat: 'chat.completion' };
      const body = {
        id: 'x',
        type: objects[kind],
        object: objects[kind],
        status: 'completed',
        choices: [],
        model: 'm',
        usage: usages[kind],
      };
      for (const api of apis) {
        const call = replay({ provider: 'compatible', api, body });
        assert.deepEqual([call.inputTokens, call.outputTokens, call.complete], [3, 2, true], api);
      }
    });

  test('one that is not known is refused by name', () => {
    assert.throws(() => replay({ provider: 'compatible', api: 'embeddings' }), /API embeddings/);
  });
});
