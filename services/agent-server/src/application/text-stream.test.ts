import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTextStream, cut } from './text-stream.ts';

function bench(idle: boolean) {
  const pieces: string[] = [];
  const sink = {
    emit: () => 0,
    room: async () => undefined,
    idle: () => idle,
    acknowledged: async () => undefined,
  };
  return { pieces, stream: createTextStream(sink, (text) => pieces.push(text), 1_000_000) };
}
const signal = new AbortController().signal;

test('text goes at once while nothing is in flight, else it is gathered', async () => {
  const atOnce = bench(true);
  await atOnce.stream.write('a', signal);
  await atOnce.stream.write('b', signal);
  assert.deepEqual(atOnce.pieces, ['a', 'b']);
  const gathered = bench(false);
  await gathered.stream.write('a', signal);
  await gathered.stream.write('b', signal);
  assert.deepEqual(gathered.pieces, []);
  gathered.stream.flush();
  assert.deepEqual(gathered.pieces, ['ab']);
});

test('long text leaves in pieces that tear no character', async () => {
  const { pieces, stream } = bench(false);
  const text = `x${'😀'.repeat(40_000)}`;
  await stream.write(text, signal);
  stream.flush();
  assert.ok(pieces.length >= 2 && pieces.every((piece) => piece.isWellFormed()));
  assert.equal(pieces.join(''), text);
});

test('a cut never ends inside a pair', () => {
  assert.equal(cut('a😀', 2), 'a');
  assert.equal(cut('a😀', 3), 'a😀');
});
