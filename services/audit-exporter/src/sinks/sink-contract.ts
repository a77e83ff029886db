import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { SignedCheckpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import { checkpointId } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import type { Sink, SinkPosition } from '../application/ports/sink.ts';
import { closed, executed, opened } from '../testing/database.ts';

/** One place to deliver to, with whatever a test needs to look inside. */
export interface SinkPlace {
  /** A new instance for the same place, as a restarted exporter has it. */
  readonly create: () => Sink;
  /** Dedup ids that the receiver has, in its order. */
  readonly received: () => Promise<string[]>;
  /** Ids of the checkpoints that the receiver has, in its order. */
  readonly anchored: () => Promise<string[]>;
  readonly remove: () => Promise<void>;
}

/** A log of one session with as many entries as wanted. */
export function sampleLog(size: number, chain = 'session:s_contract'): IndexedEntry[] {
  const drafts = [opened, ...Array.from({ length: size - 2 }, (_, call) => executed(call)), closed];
  const { entries } = extendChain(unopened(chain), drafts, '2026-11-29T15:00:00.000Z');
  return entries.map((entry, index) => ({ index, entry }));
}

/** Checkpoints as a log has them; their signatures are nobody's business here. */
export function sampleCheckpoints(size: number): SignedCheckpoint[] {
  const root = Buffer.alloc(32, 7);
  const [origin, at] = ['lemniscate.audit/contract', '2026-11-29T15:00:00.000Z'];
  return Array.from({ length: size }, (_, number) => {
    const note = `${origin}\n${number}\n\n— signature ${number}\n`;
    return { origin, size: number, root, number, epoch: 0, at, note, frontier: [root] };
  });
}

const ids = (log: readonly IndexedEntry[]): string[] =>
  log.map(({ entry }) => dedupId(entry.chain, entry.seq, toHex(entry.digest)));

const positionOf = ({ index, entry }: IndexedEntry): SinkPosition => ({ index, digest: toHex(entry.digest) });

/** What every sink must do. */
export function sinkContract(kind: string, makePlace: () => Promise<SinkPlace>): void {
  const log = sampleLog(40);
  const inPlace = (name: string, work: (place: SinkPlace) => Promise<void>): void => {
    test(`${kind}: ${name}`, async () => {
      const place = await makePlace();
      try {
        await work(place);
      } finally {
        await place.remove();
      }
    });
  };
  const deliver = async (sink: Sink, batch: readonly IndexedEntry[]): Promise<void> =>
    assert.deepEqual(await sink.deliver(batch, AbortSignal.timeout(10_000)), []);

  inPlace('an empty place stands nowhere and has a name of its own', async (place) => {
    const sink = place.create();
    assert.equal(await sink.open(), null);
    assert.ok(sink.name.startsWith(`${kind}:`));
    assert.equal(place.create().name, sink.name);
    await sink.close();
  });

  inPlace('what was delivered is there in order when deliver resolves', async (place) => {
    const sink = place.create();
    await sink.open();
    for (const [from, to] of [
      [0, 1],
      [1, 25],
      [25, 40],
    ] as const) {
      await deliver(sink, log.slice(from, to));
      assert.deepEqual(await place.received(), ids(log.slice(0, to)));
    }
    await sink.close();
  });

  inPlace(
    'a new instance says where the sink stands, or that it cannot tell, and goes on there',
    async (place) => {
      const first = place.create();
      await first.open();
      await deliver(first, log.slice(0, 20));
      await first.close();
      const second = place.create();
      const position = await second.open();
      if (position !== null) assert.deepEqual(position, positionOf(log[19] ?? assert.fail()));
      await deliver(second, log.slice(20));
      await second.close();
      assert.deepEqual([...new Set(await place.received())], ids(log));
    },
  );

  inPlace('a batch that is delivered again after a crash adds no id', async (place) => {
    const first = place.create();
    await first.open();
    await deliver(first, log.slice(0, 20));
    // no close: the process died after the delivery and before the cursor moved
    const second = place.create();
    const position = await second.open();
    await deliver(second, log.slice(position === null ? 0 : position.index + 1));
    await Promise.all([first.close(), second.close()]);
    assert.deepEqual(new Set(await place.received()), new Set(ids(log)));
  });

  inPlace('checkpoints arrive in order, and one that comes again adds no id', async (place) => {
    const signed = sampleCheckpoints(5);
    const anchor = (sink: Sink, from: number, to: number): Promise<void> =>
      sink.anchor(signed.slice(from, to), AbortSignal.timeout(10_000));
    const first = place.create();
    await first.open();
    await deliver(first, log.slice(0, 10));
    await anchor(first, 0, 3);
    // the process died before the cursor moved
    const second = place.create();
    await second.open();
    await anchor(second, 1, 5);
    await Promise.all([first.close(), second.close()]);
    const expected = signed.map(({ number, root }) => checkpointId(number, toHex(root)));
    assert.deepEqual([...new Set(await place.anchored())], expected);
    assert.deepEqual([...new Set(await place.received())], ids(log.slice(0, 10)));
  });

  inPlace('open and close may be repeated, and deliver without open is refused', async (place) => {
    const sink = place.create();
    await sink.close();
    await assert.rejects(deliver(sink, log));
    await sink.open();
    await sink.open();
    await deliver(sink, log.slice(0, 3));
    await sink.close();
    await sink.close();
    await assert.rejects(deliver(sink, log.slice(3)));
    assert.deepEqual(await place.received(), ids(log.slice(0, 3)));
  });
}
