import { checkpointEvent, entryEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { OutgoingEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RefusedEntry, Sink } from '../../application/ports/sink.ts';

/** What a receiver said of one request. */
export type Judgement =
  /** It has proved that it keeps all but these, by their places in the request. */
  | { readonly kept: true; readonly refused: readonly { readonly place: number; readonly reason: string }[] }
  /** The whole request is refused for what is in it; a smaller one may pass. */
  | { readonly kept: false; readonly reason: string };

/** One kind of HTTP receiver: how events look there, and how it says what it did with them. */
export interface Receiver {
  readonly kind: string;
  readonly place: string;
  /** Most bytes of encoded events in one request. */
  readonly mostBytes: number;
  encode(event: OutgoingEvent): string;
  /** @throws where the receiver, not what was sent, is at fault */
  send(events: readonly string[], signal: AbortSignal): Promise<Judgement>;
  close(): Promise<void>;
}

interface Encoded {
  /** Place in the batch. */
  readonly at: number;
  readonly text: string;
}

/**
 * The frame of every HTTP sink: bytes bounded, a refused request halved until the guilty event stands alone. Where nothing
 * of a batch is kept, an event that was kept before goes once more: when that is refused too, the receiver is at fault and
 * nothing is set aside. Before anything was kept the batch waits for entries that come after it.
 */
export function createReceiverSink(receiver: Receiver): Sink {
  let isOpen = false;
  /** The last event that the receiver has kept, to tell an entry that it refuses from a receiver that refuses everything. */
  let kept: string | null = null;

  const send = async (
    events: readonly Encoded[],
    signal: AbortSignal,
  ): Promise<{ at: number; reason: string }[]> => {
    signal.throwIfAborted();
    const judgement = await receiver.send(
      events.map(({ text }) => text),
      signal,
    );
    if (judgement.kept)
      return judgement.refused.flatMap(({ place, reason }) => {
        const guilty = events[place];
        return guilty === undefined ? [] : [{ at: guilty.at, reason }];
      });
    const [first] = events;
    if (events.length === 1 && first !== undefined) return [{ at: first.at, reason: judgement.reason }];
    const half = Math.ceil(events.length / 2);
    // one after the other: the order within a chain must hold
    const left = await send(events.slice(0, half), signal);
    return [...left, ...(await send(events.slice(half), signal))];
  };

  /** Whether the receiver takes an event again that it has taken before, under the same id. */
  const keepsStill = async (signal: AbortSignal): Promise<boolean> => {
    if (kept === null) return false;
    const judgement = await receiver.send([kept], signal);
    return judgement.kept && judgement.refused.length === 0;
  };

  const sendAll = async (
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
  ): Promise<{ at: number; reason: string }[]> => {
    if (!isOpen) throw new CodedError('internal', `The sink ${receiver.kind} is not open.`);
    const encoded = events.map((event, at): Encoded => ({ at, text: receiver.encode(event) }));
    const refused: { at: number; reason: string }[] = [];
    for (const group of groupByBytes(encoded, receiver.mostBytes))
      refused.push(...(await send(group, signal)));
    const guilty = new Set(refused.map(({ at }) => at));
    // one request of which something was refused may not say what
    if (refused.length === 0) kept = encoded.at(-1)?.text ?? kept;
    // whoever refuses everything is set up wrongly; setting the log aside, entry by entry, would hide that
    const isAll = events.length > 0 && guilty.size === events.length;
    if (isAll && !(await keepsStill(signal)))
      throw new CodedError(
        'service_unreachable',
        `The audit receiver ${receiver.place} refuses every entry of a batch (${refused[0]?.reason}). Check its set-up.`,
      );
    return refused;
  };

  return {
    name: `${receiver.kind}:${receiver.place}`,
    open: () => {
      isOpen = true;
      return Promise.resolve(null);
    },
    deliver: async (batch, signal) => {
      const refused = await sendAll(batch.map(entryEvent), signal);
      return refused.flatMap(({ at, reason }): RefusedEntry[] => {
        const entry = batch[at];
        return entry === undefined ? [] : [{ index: entry.index, reason }];
      });
    },
    anchor: async (checkpoints, signal) => {
      const [refused] = await sendAll(checkpoints.map(checkpointEvent), signal);
      if (refused === undefined) return;
      throw new CodedError(
        'service_unreachable',
        `The audit receiver ${receiver.place} refuses a checkpoint (${refused.reason}). Check its set-up.`,
      );
    },
    close: async () => {
      isOpen = false;
      await receiver.close();
    },
  };
}

function groupByBytes(events: readonly Encoded[], most: number): Encoded[][] {
  const groups: Encoded[][] = [];
  let bytes = Infinity;
  for (const event of events) {
    const size = Buffer.byteLength(event.text) + 1;
    if (bytes + size > most) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(event);
    bytes += size;
  }
  return groups;
}
