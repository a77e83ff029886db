import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../testing/within.ts';
import { createWriteTurns } from './write-turns.ts';
import type { WriteLine, WriteTurns } from './write-turns.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** A line that notes what it writes. */
function notingLine(turns: WriteTurns, log: string[]): WriteLine {
  return turns.open((piece) => void log.push(Buffer.from(piece).toString()));
}

function manyLines(turns: WriteTurns, log: string[]): WriteLine[] {
  return Array.from({ length: 64 }, () => notingLine(turns, log));
}

test('with few answers open a piece is written in the moment it comes', () => {
  const log: string[] = [];
  const line = notingLine(createWriteTurns(), log);
  line.write(bytes('a'));
  assert.deepEqual(log, ['a']);
});

test('with many open, pieces wait for the others of their turn, and keep their order', async () => {
  const log: string[] = [];
  const [one, other] = manyLines(createWriteTurns(), log);
  one?.write(bytes('a'));
  other?.write(bytes('b'));
  one?.write(bytes('c'));
  assert.deepEqual(log, []);
  await within(1_000, 'the turn is written', () => log.length === 3);
  assert.deepEqual(log, ['a', 'b', 'c']);
});

test('a full turn does not wait, and an end waits for nobody', () => {
  const log: string[] = [];
  const [one, other] = manyLines(createWriteTurns(), log);
  for (let piece = 0; piece < 7; piece += 1) one?.write(bytes(String(piece)));
  assert.deepEqual(log, []);
  other?.write(bytes('7'));
  assert.equal(log.join(''), '01234567');
  one?.write(bytes('last'));
  one?.flush();
  assert.equal(log.at(-1), 'last');
});

test('what a closed line has not written is dropped, and the others go on', async () => {
  const log: string[] = [];
  const turns = createWriteTurns();
  const [gone, ...rest] = manyLines(turns, log);
  gone?.write(bytes('never'));
  rest[0]?.write(bytes('a'));
  gone?.close();
  gone?.close();
  await within(1_000, 'the turn is written', () => log.length > 0);
  assert.deepEqual(log, ['a']);
  // 63 are open: there is no need to wait any more
  rest[1]?.write(bytes('b'));
  assert.deepEqual(log, ['a', 'b']);
});
