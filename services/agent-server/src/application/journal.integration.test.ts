import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createJournalFolder } from '../adapters/journal-folder.ts';
import { createGate } from './signal-gate.ts';
import { createJournal } from './journal.ts';
import type { JournalBounds } from './journal-queue.ts';
import type { JournalBatch } from './ports/dispatcher.ts';
import type { JournalFiles } from './ports/journal-store.ts';

const held = { sessionId: 's_1', attempt: 1 };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const soon = () => AbortSignal.timeout(10_000);

/** A journal in a real folder, and a receiver that takes batches by the test's rules. */
function startJournal(
  t: TestContext,
  bounds: Partial<JournalBounds> = {},
  wrap = (files: JournalFiles) => files,
) {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-journal-'));
  const received: string[] = [];
  const changed = createGate();
  const state = {
    away: false,
    refuse: (_batch: JournalBatch): CodedError | null => null,
    inFlight: 0,
    mostInFlight: 0,
    largest: 0,
    stale: 0,
    broken: [] as unknown[],
  };
  const journal = createJournal({
    held,
    files: wrap(createJournalFolder(folder).open(held)),
    clock: systemClock,
    log,
    bounds,
    dispatcher: {
      sendEvents: async (_held, batch, signal) => {
        state.inFlight += 1;
        state.mostInFlight = Math.max(state.mostInFlight, state.inFlight);
        state.largest = Math.max(state.largest, batch.lines.length);
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        state.inFlight -= 1;
        changed.wake();
        if (state.away) throw new CodedError('service_unreachable', 'away');
        const refusal = state.refuse(batch);
        if (refusal !== null) throw refusal;
        assert.ok(batch.firstSeq <= received.length + 1, 'a hole');
        for (const line of batch.lines.slice(received.length + 1 - batch.firstSeq)) {
          const { event } = JSON.parse(Buffer.from(line).toString('utf8'));
          received.push(event.text);
        }
        return { acknowledgedSeq: received.length, commands: [], pause: false };
      },
    },
    onStale: () => (state.stale += 1),
    onBroken: (error) => state.broken.push(error),
    onPause: () => undefined,
    onCommands: () => undefined,
  });
  t.after(async () => {
    await journal.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    journal,
    state,
    received,
    folder: join(folder, 's_1.1'),
    until: (open: () => boolean) => changed.until(open, soon()),
  };
}
const numbered = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `event ${index + from}`);

test('events arrive in order, one batch at a time, and what comes meanwhile travels together', async (t) => {
  const { journal, state, received } = startJournal(t);
  for (const text of numbered(2000)) journal.emit({ type: 'notice', text });
  await journal.drained(soon());
  assert.deepEqual(received, numbered(2000));
  assert.equal(state.mostInFlight, 1);
  assert.ok(state.largest > 1 && state.largest <= 500);
  assert.equal(journal.idle(), true);
});

test('while the receiver is away the disk keeps everything, and little of it stays in memory', async (t) => {
  const bounds = { memoryBytes: 2000, segmentBytes: 4000, batchEvents: 50 };
  const { journal, state, received, folder, until } = startJournal(t, bounds);
  state.away = true;
  // All in one go, as behind a disk that stood still: one write of them would make one segment.
  for (const text of numbered(1000)) journal.emit({ type: 'notice', text });
  await until(() => state.mostInFlight > 0 && existsSync(folder) && readdirSync(folder).length > 1);
  state.away = false;
  await journal.drained(soon());
  assert.deepEqual(received, numbered(1000));
  // Segments whose events are all acknowledged are gone; only the last one is left.
  assert.equal(readdirSync(folder).length, 1);
  await journal.close();
  assert.equal(existsSync(folder), false);
});

test('output waits while too much is unacknowledged; facts always fit', async (t) => {
  const { journal, state } = startJournal(t, { unacknowledgedBytes: 500 });
  state.away = true;
  for (const text of numbered(100)) journal.emit({ type: 'notice', text });
  await assert.rejects(journal.room(AbortSignal.timeout(50)), { name: 'TimeoutError' });
  journal.emit({ type: 'notice', text: 'a fact' });
  state.away = false;
  await journal.room(soon());
});

test('a stale attempt stops the journal and whoever waits for it', async (t) => {
  const { journal, state } = startJournal(t);
  state.refuse = () => new CodedError('attempt_stale', 'not yours');
  const seq = journal.emit({ type: 'notice', text: 'x' });
  await assert.rejects(journal.acknowledged(seq, soon()), { code: 'attempt_stale' });
  assert.equal(state.stale, 1);
});

test('an event that is refused for good does not hold up the others', async (t) => {
  const { journal, state, received } = startJournal(t);
  state.refuse = (batch) =>
    batch.lines.some((line) => Buffer.from(line).includes('poison'))
      ? new CodedError('request_invalid', 'bad event')
      : null;
  for (const text of ['before', 'poison', 'after']) journal.emit({ type: 'notice', text });
  await journal.drained(soon());
  assert.deepEqual(received, ['before', 'An event was refused: bad event', 'after']);
});

test('a full disk stops the session, and its end can still be told', async (t) => {
  let full = false;
  const { journal, state, received } = startJournal(t, {}, (files) => ({
    ...files,
    append: (segment, bytes) =>
      full ? Promise.reject(new CodedError('disk_full', 'full')) : files.append(segment, bytes),
  }));
  journal.emit({ type: 'notice', text: 'before' });
  await journal.drained(soon());
  full = true;
  journal.emit({ type: 'notice', text: 'during' });
  await journal.drained(soon());
  full = false;
  journal.emit({ type: 'notice', text: 'after' });
  await journal.drained(soon());
  assert.deepEqual(received, ['before', 'during', 'after']);
  assert.equal((state.broken[0] as CodedError).code, 'disk_full');
});
