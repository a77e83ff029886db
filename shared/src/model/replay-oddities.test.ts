import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readPinnedPriceBook } from './genai-prices-book.ts';
import { asObject, parseObject } from './json-reading.ts';
import { replayLine } from './replay-lines.ts';

const book = readPinnedPriceBook();
const odd = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  'x',
  '__proto__',
  'constructor',
  [],
  [null],
  {},
  { a: {} },
];

type Path = readonly string[];

function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* pathsOf(member, [...path, name]);
}

function withMember(value: unknown, [name, ...rest]: Path, member: unknown): unknown {
  if (name === undefined) return member;
  if (Array.isArray(value))
    return value.map((one, at) => (at === Number(name) ? withMember(one, rest, member) : one));
  const object = asObject(value) ?? {};
  return { ...object, [name]: withMember(object[name], rest, member) };
}

/** The data of streams as objects, so that their members can be changed. */
function open(call: Readonly<Record<string, unknown>>): unknown {
  const stream = (call['stream'] as readonly unknown[]).map((item) => {
    const data = typeof item === 'string' ? parseObject(item.slice(item.indexOf('{'))) : undefined;
    return data === undefined ? item : { data };
  });
  return { ...call, stream };
}

function close(call: unknown): string {
  const stream = asObject(call)?.['stream'];
  if (!Array.isArray(stream)) return JSON.stringify(call);
  const items = stream.map((item: unknown) => {
    const data = asObject(item)?.['data'];
    return data === undefined ? item : `data: ${JSON.stringify(data)}\n\n`;
  });
  return JSON.stringify({ ...(call as object), stream: items });
}

const counts = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'billableResponses',
];

function faultOf(answer: Readonly<Record<string, unknown>>): string | null {
  const code = asObject(answer['error'])?.['code'];
  if (code !== undefined) return code === 'internal' ? 'a fault of ours' : null;
  if (!counts.every((name) => Number.isSafeInteger(answer[name]) && Number(answer[name]) >= 0))
    return 'a number that is no count';
  if (answer['costUsd'] !== null && !/^\d+(?:\.\d+)?$/.test(String(answer['costUsd']))) return 'a cost';
  if ((answer['costUsd'] === null) === answer['priced']) return 'priced';
  if (answer['complete'] === false && answer['costIsLowerBound'] === false) return 'the lower bound';
  return Number(answer['cacheWrite1hTokens']) > Number(answer['cacheWriteTokens']) ? 'one-hour writes' : null;
}

for (const file of ['cost-examples', 'cost-variants'])
  test(`${file}: whatever stands in one place, the answer is a sound one or names what is wrong`, () => {
    const lines = readFileSync(new URL(`fixtures/${file}.jsonl`, import.meta.url), 'utf8')
      .trimEnd()
      .split('\n');
    let played = 0;
    for (const line of lines) {
      const { expected: _, why: __, ...call } = JSON.parse(line) as Record<string, unknown>;
      const opened = open(call);
      for (const path of pathsOf(opened))
        for (const member of odd) {
          const { text } = replayLine(close(withMember(opened, path, member)), book);
          const fault = faultOf(JSON.parse(text) as Record<string, unknown>);
          assert.equal(
            fault,
            null,
            `${String(call['id'])}: ${path.join('.')} = ${JSON.stringify(member)}: ${text}`,
          );
          played += 1;
        }
    }
    assert.ok(played > 5_000, `only ${played} were played`);
  });
