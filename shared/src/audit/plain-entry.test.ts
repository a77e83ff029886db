import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../json.ts';
import { readCanonical } from './canonical.ts';
import { writeCanonical } from './canonical-write.ts';
import type { ChainedEntry } from './entry.ts';
import { readEnvelope } from './envelope.ts';
import { isPlainlySound } from './plain-entry.ts';
import { seeded } from './testing/seeded.ts';

const at = '2026-11-30T08:00:00.000Z';
const envelope = { v: 1, type: 'tool.decided', at, subject: 'ann', body: { call: 'c1', reasons: ['x', 1] } };

const entryOf = (body: Uint8Array, copies: Partial<ChainedEntry> = {}): ChainedEntry => ({
  chain: 'session:s',
  seq: 2,
  prev: Buffer.alloc(32),
  digest: Buffer.alloc(32),
  body,
  type: 'tool.decided',
  at,
  ...copies,
});
const written = (value: JsonValue, copies: Partial<ChainedEntry> = {}): ChainedEntry =>
  entryOf(writeCanonical(value), copies);
const spelt = (text: string, copies: Partial<ChainedEntry> = {}): ChainedEntry =>
  entryOf(Buffer.from(text), copies);
const text = Buffer.from(writeCanonical(envelope)).toString();

/** The slow and simple judge: parse, look, compare. */
function isSound({ body, type, at: time, seq }: ChainedEntry): boolean {
  const read = readCanonical(body);
  const found = read?.canonical === true ? readEnvelope(read.value) : null;
  if (found?.type !== type || found.at !== time || seq === 1) return false;
  return !['session.opened', 'chain.opened', 'chain.closed'].includes(type);
}

test('an ordinary entry is sound at a glance, with attempt and server and without', () => {
  assert.equal(isPlainlySound(written(envelope)), true);
  assert.equal(isPlainlySound(written({ ...envelope, attempt: 3 })), true);
  assert.equal(isPlainlySound(written({ ...envelope, server: 'one', body: {} })), true);
  assert.equal(isPlainlySound(written({ ...envelope, attempt: -1, server: '' })), true);
});

const doubtful: [name: string, entry: ChainedEntry][] = [
  ['the first of its chain', written(envelope, { seq: 1 })],
  ['another type beside it', written(envelope, { type: 'tool.decide' })],
  ['another time beside it', written(envelope, { at: '2026-11-30T08:00:00.001Z' })],
  ['an opening', written({ ...envelope, type: 'session.opened' }, { type: 'session.opened' })],
  ['a close', written({ ...envelope, type: 'chain.closed' }, { type: 'chain.closed' })],
  ['no type', written({ ...envelope, type: '' }, { type: '' })],
  ['no subject', written({ ...envelope, subject: '' })],
  [
    'a day that there is not',
    written({ ...envelope, at: '2026-02-30T08:00:00.000Z' }, { at: '2026-02-30T08:00:00.000Z' }),
  ],
  ['a text for attempt', written({ ...envelope, attempt: '1' })],
  ['a word for attempt', written({ ...envelope, attempt: true })],
  ['a list for attempt', written({ ...envelope, attempt: [] })],
  ['a number for server', written({ ...envelope, server: 1 })],
  ['a list for body', written({ ...envelope, body: [] })],
  ['a member too many', written({ ...envelope, w: 1 })],
  ['another version', written({ ...envelope, v: 2 })],
  [
    'a type that brings its own members',
    spelt(text.replace('"v":1', '"v":1,"v":1'), { type: 'tool.decided","v":1' }),
  ],
  ['a type that brings its own end', spelt(`${text}x","v":1}`, { type: 'tool.decided","v":1}x' })],
  ['bytes behind the end', spelt(`${text} `)],
  ['the end cut off', spelt(text.slice(0, -1))],
  ['no bytes', spelt('')],
  ['a space between', spelt(text.replace('"v":1', '"v": 1'))],
  [
    'members out of order',
    spelt(text.replace('"call":"c1","reasons":["x",1]', '"reasons":["x",1],"call":"c1"')),
  ],
  ['a member twice', spelt(text.replace('"call":"c1"', '"call":"c1","call":"c1"'))],
  ['a negative zero', spelt(text.replace('"body"', '"attempt":-0,"body"'))],
  ['a fraction', spelt(text.replace('"body"', '"attempt":1.5,"body"'))],
  ['server before body', spelt(text.replace('"body"', '"server":"one","body"'))],
  ['no body', spelt(text.replace('"body":{"call":"c1","reasons":["x",1]},', ''))],
];
for (const [name, entry] of doubtful)
  test(`left to the slow way: ${name}`, () => assert.equal(isPlainlySound(entry), false));

test('what is taken for sound is sound: 20,000 entries, whole and with a byte changed, added or gone', () => {
  const next = seeded(20_261_130);
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(next() * values.length)] as Value;
  const odd = <Value>(usual: readonly Value[], rare: readonly Value[]): Value =>
    pick(next() < 0.9 ? usual : rare);
  let quick = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const value: Record<string, JsonValue> = {
      ...envelope,
      type: odd(['tool.decided', 'file.read'], ['chain.closed', 'é', '"']),
      subject: odd(['ann', 'b'], ['Ö', 'a"b', '']),
      body: odd<JsonValue>([{}, { a: [1, { b: null }], c: 'd' }], [{ é: 1.5 }, [], 'x']),
      ...(next() < 0.5 ? { attempt: odd<JsonValue>([1, -7], [2 ** 53 - 1, 1.5, '1']) } : {}),
      ...(next() < 0.5 ? { server: odd<JsonValue>(['one', ''], ['ö', 1]) } : {}),
    };
    const whole = Buffer.from(writeCanonical(value));
    const place = Math.floor(next() * whole.length);
    const change = Math.floor(next() * 5);
    const changed = [
      whole.subarray(0, place),
      change === 3 ? Buffer.alloc(0) : Buffer.of(Math.floor(next() * 128)),
      whole.subarray(change === 2 ? place : place + 1),
    ];
    const body = change === 0 || change === 4 ? whole : Buffer.concat(changed);
    const entry = entryOf(body, { type: String(value['type']), seq: pick([1, 2, 3, 4, 5]) });
    const isQuick = isPlainlySound(entry);
    if (isQuick) assert.equal(isSound(entry), true, body.toString());
    quick += Number(isQuick);
  }
  assert.ok(quick > 3_000 && quick < 15_000, `${quick} told at a glance`);
});
