import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Decimal } from './decimal.ts';
import type { ReplayedCall } from './replay.ts';
import { replay } from './testing.ts';

interface Example {
  readonly id: string;
  readonly api: string;
  readonly stream: readonly (string | object)[];
  readonly expected: { readonly complete: boolean; readonly billableResponses: number };
}

const readExamples = (file: string): Example[] =>
  readFileSync(new URL(`fixtures/${file}.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Example);
const examples = readExamples('cost-examples');
const isText = ({ stream }: Example): boolean => stream.every((item) => typeof item === 'string');
const streamed = [
  ...examples.filter(isText),
  ...readExamples('cost-variants').filter(
    (example) => isText(example) && example.expected.complete && example.expected.billableResponses === 1,
  ),
];

const textOf = ({ stream }: Example): string => stream.filter((item) => typeof item === 'string').join('');
const answer = (example: Example, stream: readonly unknown[]): ReplayedCall => replay({ ...example, stream });

const buckets = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'billableResponses',
] as const;

/** What closes a stream: the end of the data that says so. */
function closedAt(example: Example, text: string): number {
  const closing = { messages: '"message_stop"', responses: '"response.completed"' }[example.api];
  const at = closing === undefined ? text.lastIndexOf('"usage":{') : text.lastIndexOf(closing);
  return at < 0 ? Number.POSITIVE_INFINITY : text.indexOf('\n', at);
}

test('there are streams of every API', () => {
  assert.deepEqual([...new Set(streamed.map(({ api }) => api))].sort(), [
    'chat.completions',
    'messages',
    'responses',
  ]);
});

for (const example of streamed) {
  const text = textOf(example);
  const whole = answer(example, example.stream);

  describe(`${example.id}, a stream`, () => {
    test('cut anywhere it is a lower bound, and whole only with its closing event', () => {
      const closing = closedAt(example, text);
      for (let at = 0; at <= text.length; at += 1) {
        const cut = answer(example, [text.slice(0, at)]);
        for (const name of buckets) assert.ok(cut[name] <= whole[name], `${name} at ${at}`);
        assert.ok(new Decimal(cut.costUsd ?? 0).lte(whole.costUsd ?? 0), `cost at ${at}`);
        assert.equal(cut.complete, at >= closing, `complete at ${at}`);
        assert.equal(cut.costIsLowerBound, at < closing, `lower bound at ${at}`);
      }
    });

    test('in two pieces, or with a body of another kind between them, it is the same', () => {
      for (let at = 0; at <= text.length; at += 1) {
        const [first, second] = [text.slice(0, at), text.slice(at)];
        assert.deepEqual(answer(example, [first, second]), whole, `at ${at}`);
        assert.deepEqual(answer(example, [first, { note: 'no answer' }, second]), whole, `body at ${at}`);
      }
    });

    const events = text.split('\n\n').filter((event) => event !== '');
    const spread = (event: string): string =>
      event.replace(/^data: (\{[^\n]*)/m, (_, json: string) =>
        JSON.stringify(JSON.parse(json), null, 1)
          .split('\n')
          .map((line) => `data: ${line}`)
          .join('\n'),
      );
    const writings: Readonly<Record<string, string>> = {
      'carriage returns and line feeds': text.replaceAll('\n', '\r\n'),
      'carriage returns': text.replaceAll('\n', '\r'),
      'a byte order mark': `\uFEFF${text}`,
      comments: `: hello\n\n${events.map((event) => `: ping\n${event}\n: pong\n\n: keep alive\n\n`).join('')}`,
      'no space behind the colon': text.replaceAll(/^(event|data): /gm, '$1:'),
      'ids and retries': events.map((event, index) => `id: ${index}\nretry: 5\n${event}\n\n`).join(''),
      'data over several lines': events.map((event) => `${spread(event)}\n\n`).join(''),
      'no names of events': text.replaceAll(/^event: .*\n/gm, ''),
      'names of events last': events
        .map((event) => `${event.split('\n').toReversed().join('\n')}\n\n`)
        .join(''),
      'separators of Unicode inside a text': text.replaceAll('"ok"', '"o\u2028\u2029\u0085k"'),
      'usage inside a text': text.replaceAll(
        '"ok"',
        JSON.stringify('data: {"usage":{"output_tokens":9}}\n\n'),
      ),
    };
    for (const [what, written] of Object.entries(writings))
      test(`with ${what} it is the same, whole and in two pieces`, () => {
        for (let at = 0; at <= written.length; at += 1)
          assert.deepEqual(answer(example, [written.slice(0, at), written.slice(at)]), whole, `at ${at}`);
      });

    test('events that were parsed already, or parsed in part, are the same', () => {
      const parsed = events.map((event): unknown => {
        const data = /^data: (\{[^\n]*)/m.exec(event)?.[1];
        return data === undefined ? `${event}\n\n` : JSON.parse(data);
      });
      assert.deepEqual(answer(example, parsed), whole);
      const mixed = parsed.map((item, index) => (index % 2 === 0 ? item : `${events[index] ?? ''}\n\n`));
      assert.deepEqual(answer(example, mixed), whole);
    });
  });
}

describe('a response that is seen again', () => {
  /** The same answers under other ids. */
  const renamed = (example: Example, suffix: string): Example['stream'] =>
    JSON.parse(
      JSON.stringify(example.stream).replaceAll(/((?:msg|resp)_\w+|chatcmpl-\w+)/g, `$1${suffix}`),
    ) as Example['stream'];

  for (const example of examples)
    test(`${example.id}: counts once, in any order`, () => {
      const [a, b] = [example.stream, renamed(example, 'B')];
      const once = answer(example, a);
      const orders = [
        [a, b],
        [b, a],
        [a, a, b],
        [a, b, a],
        [b, a, a, b],
      ];
      for (const order of orders) {
        const call = answer(example, order.flat());
        for (const name of buckets) assert.equal(call[name], 2 * once[name], name);
        assert.equal(call.complete, once.complete);
        assert.equal(
          call.costUsd,
          once.costUsd === null ? null : new Decimal(once.costUsd).times(2).toFixed(),
        );
      }
      assert.deepEqual(answer(example, [...a, ...a, ...a]), once);
    });

  for (const example of streamed)
    test(`${example.id}: a cut one and the whole one are one, in any order`, () => {
      const text = textOf(example);
      const whole = answer(example, [text]);
      for (let at = 0; at <= text.length; at += 1) {
        // A reader that connects again begins on a new line.
        const cut = `${text.slice(0, at)}\n\n`;
        assert.deepEqual(answer(example, [cut, text]), whole, `cut at ${at}, then whole`);
        assert.deepEqual(answer(example, [text, cut]), whole, `whole, then cut at ${at}`);
        assert.deepEqual(answer(example, [text.slice(0, at), text]), whole, `glued at ${at}`);
      }
    });
});
