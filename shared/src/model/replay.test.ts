import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readPinnedPriceBook } from './genai-prices-book.ts';
import { replayLine } from './replay-lines.ts';

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
