import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { UsageWire } from '@lemniscate/shared/model/usage-meter.ts';
import { createAnswerMeter } from './answer-meter.ts';

const wires: Readonly<Record<string, UsageWire>> = {
  messages: 'anthropic-messages',
  responses: 'openai-responses',
  'chat.completions': 'openai-chat',
};
const examples = readFileSync(
  new URL('../../../../../shared/src/model/fixtures/cost-examples.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as { id: string; api: string; stream: readonly (string | object)[] });

function metered(api: string, contentType: string, ...pieces: readonly Uint8Array[]) {
  const meter = createAnswerMeter(wires[api] ?? 'openai-chat', contentType);
  for (const piece of pieces) meter.push(piece);
  return meter.end();
}

for (const { id, api, stream } of examples.filter((example) => example.api in wires)) {
  const [first] = stream;
  const isStream = typeof first === 'string';
  const type = isStream ? 'text/event-stream; charset=utf-8' : 'application/json';
  // Characters of two, three and four bytes, and the separators that end no line.
  const text = (isStream ? stream.join('') : JSON.stringify(first)).replaceAll(
    '"ok"',
    JSON.stringify('ä€𝄞\u2028\u2029'),
  );
  const bytes = Buffer.from(text);
  const whole = metered(api, type, bytes);

  test(`${id}: an answer in two pieces, cut at any byte, tells the same`, () => {
    assert.equal(whole.responses.length, 1);
    for (let at = 0; at <= bytes.length; at += 1)
      assert.deepEqual(metered(api, type, bytes.subarray(0, at), bytes.subarray(at)), whole, `at ${at}`);
  });

  test(`${id}: an answer that ends early is whole only when nothing of it is missing`, () => {
    let wholeAt = 0;
    for (let at = 0; at <= bytes.length; at += 1) {
      const cut = metered(api, type, bytes.subarray(0, at));
      if (cut.complete) assert.deepEqual(cut, whole, `at ${at}`);
      else wholeAt = at + 1;
    }
    const rest = bytes.subarray(wholeAt).toString();
    // What is left is the end of the last event.
    if (whole.complete) assert.match(rest, /^\n*(?:data: \[DONE\]\n\n)?$/);
  });
}
