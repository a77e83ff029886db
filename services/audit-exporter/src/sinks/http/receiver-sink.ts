import { checkpointEvent, entryEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { OutgoingEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Handing, RefusedEntry, Sink } from '../../application/ports/sink.ts';

/** What a receiver said of one request. */
export type Judgement =
  /** It has proved that it keeps all but these, by their places in the request. */
  | { readonly kept: true; readonly refused: readonly { readonly place: number; readonly reason: string }[] }
  /** It keeps all but so many and does not say which. The request must not come again: what it keeps would be there twice. */
  | { readonly kept: 'some'; readonly rejected: number }
  /** The whole request is refused for what is in it; a smaller one may pass. */
  | { readonly kept: false; readonly reason: string };

/** One kind of HTTP receiver: how events look there, and how it says what it did with them. */
export interface Receiver {
  readonly kind: string;
  readonly place: string;
  /** Whether an answer says which events of a request are refused; absent: it does. */
  readonly tellsWhich?: boolean;
  /** Most bytes of encoded events in one request. */
  readonly mostBytes: number;
  encode(event: OutgoingEvent): string;
  /** @throws where the receiver, not what was sent, is at fault */
  send(events: readonly string[], signal: AbortSignal): Promise<Judgement>;
  close(): Promise<void>;
}

/** An event that was refused, or the first of some of which a number was. */
interface Refused {
  readonly at: number;
  readonly reason: string;
  readonly among?: { readonly last: number; readonly refused: number };
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

  const send = async (events: readonly Encoded[], signal: AbortSignal): Promise<Refused[]> => {
    signal.throwIfAborted();
    const judgement = await receiver.send(
      events.map(({ text }) => text),
      signal,
    );
    const [first] = events;
    if (judgement.kept === 'some' && first !== undefined) {
      const among = { last: events.at(-1)?.at ?? first.at, refused: judgement.rejected };
      return [{ at: first.at, reason: 'rejected_some', among }];
    }
    if (judgement.kept === true)
      return judgement.refused.flatMap(({ place, reason }) => {
        const guilty = events[place];
        return guilty === undefined ? [] : [{ at: guilty.at, reason }];
      });
    const reason = judgement.kept === 'some' ? 'rejected' : judgement.reason;
    if (events.length === 1 && first !== undefined) return [{ at: first.at, reason }];
    const half = Math.ceil(events.length / 2);
    // one after the other: the order within a chain must hold
    const left = await send(events.slice(0, half), signal);
    return [...left, ...(await send(events.slice(half), signal))];
  };

  /** Whether the receiver takes an event again that it has taken before, under the same id. */
  const keepsStill = async (signal: AbortSignal): Promise<boolean> => {
    if (kept === null) return false;
    const judgement = await receiver.send([kept], signal);
    return judgement.kept === true && judgement.refused.length === 0;
  };

  const sendAll = async (
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
    handing: Handing,
  ): Promise<Refused[]> => {
    if (!isOpen) throw new CodedError('internal', `The sink ${receiver.kind} is not open.`);
    const encoded = events.map((event, at): Encoded => ({ at, text: receiver.encode(event) }));
    const refused: Refused[] = [];
    const groups =
      handing === 'singly' ? encoded.map((event) => [event]) : groupByBytes(encoded, receiver.mostBytes);
    for (const group of groups) refused.push(...(await send(group, signal)));
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
    ...(receiver.tellsWhich === undefined ? {} : { tellsWhich: receiver.tellsWhich }),
    deliver: async (batch, signal, handing = 'together') => {
      const refused = await sendAll(batch.map(entryEvent), signal, handing);
      return refused.flatMap(({ at, reason, among }): RefusedEntry[] => {
        const [entry, last] = [batch[at], batch[among?.last ?? at]];
        if (entry === undefined || last === undefined) return [];
        const some = among === undefined ? {} : { among: { last: last.index, refused: among.refused } };
        return [{ index: entry.index, reason, ...some }];
      });
    },
    anchor: async (checkpoints, signal) => {
      const handing = receiver.tellsWhich === false ? 'singly' : 'together';
      const [refused] = await sendAll(checkpoints.map(checkpointEvent), signal, handing);
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
