import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createLiveBuffer } from './live-buffer.ts';

const event = (position: number, text = 'x'): PositionedEvent => ({
  position,
  at: '2026-01-01T00:00:00.000Z',
  attempt: 1,
  event: { type: 'text', turn: 1, text },
});
const events = (...positions: number[]) => ({ sessionId: 's', events: positions.map((at) => event(at)) });

function freshBuffer(): ReturnType<typeof createLiveBuffer> {
  const buffer = createLiveBuffer();
  assert.equal(buffer.takeStale(), true);
  return buffer;
}

test('events that follow each other are handed out once and in order', () => {
  const buffer = freshBuffer();
  buffer.hear(events(4, 5));
  buffer.hear(events(5, 6));
  assert.equal(buffer.take(3)?.position, 4);
  assert.equal(buffer.take(4)?.position, 5);
  assert.equal(buffer.take(5)?.position, 6);
  assert.equal(buffer.take(6), undefined);
  assert.equal(buffer.takeStale(), false);
});

test('what the reader has seen already is dropped', () => {
  const buffer = freshBuffer();
  buffer.hear(events(1, 2, 3));
  assert.equal(buffer.take(2)?.position, 3);
});

test('a hole, in what was heard or before it, makes the record be read', () => {
  const within = freshBuffer();
  within.hear(events(1));
  within.hear(events(3));
  assert.equal(within.takeStale(), true);
  const ahead = freshBuffer();
  ahead.hear(events(5));
  assert.equal(ahead.take(3), undefined);
  assert.equal(ahead.takeStale(), true);
});

test('a bare wake-up makes the record be read and wakes the waiting', async () => {
  const buffer = freshBuffer();
  const waiting = buffer.wait(60_000, new AbortController().signal);
  buffer.hear({ sessionId: 's' });
  await waiting;
  assert.equal(buffer.takeStale(), true);
});

test('neither many nor large events are held without bound', () => {
  const many = freshBuffer();
  for (let position = 1; position <= 10_000; position += 1) many.hear(events(position));
  assert.equal(many.takeStale(), true);
  const large = freshBuffer();
  for (let position = 1; position <= 10; position += 1)
    large.hear({ sessionId: 's', events: [event(position, 'x'.repeat(100_000))] });
  assert.equal(large.takeStale(), true);
});
