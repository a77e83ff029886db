import type { LogStore } from './ports/log-store.ts';
import type { SealStore } from './ports/seal-store.ts';
import type { Sink } from './ports/sink.ts';
import { deliverBatch } from './ship-to-sink.ts';

/** Entries that go each by itself, within the deadline of a batch. */
const mostSingly = 100;

/**
 * Sends one batch of the oldest range that somebody wants to have sent again. The sink's cursor stays where it is, and
 * the receiver drops what it has by the ids.
 * @returns whether there may be more
 */
export async function resendBatch(
  { store, seals }: { readonly store: LogStore; readonly seals: SealStore },
  sink: Sink,
): Promise<boolean> {
  const range = await store.openResend(sink.name);
  if (range === null) return false;
  if (sink.resends === false) {
    await store.closeResend(
      range.id,
      'it keeps entries by their place: give it another place, which is filled from the start',
    );
    return true;
  }
  // one that does not say which entry it refuses is asked about each: a person wants to know
  const [most, handing] =
    sink.tellsWhich === false ? ([mostSingly, 'singly'] as const) : ([Infinity, 'together'] as const);
  const left = Math.min(most, range.to - range.next);
  const delivered = await deliverBatch({ store, seals }, sink, range.next, left, handing);
  const next = range.next + delivered.length;
  if (delivered.length > 0) await store.advanceResend(range.id, next);
  if (delivered.length === 0 || next >= range.to) await store.closeResend(range.id, null);
  return true;
}
