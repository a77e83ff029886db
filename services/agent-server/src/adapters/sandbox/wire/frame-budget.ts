import { Transform } from 'node:stream';
import type { TransformCallback } from 'node:stream';
import { maxPayloadBytes } from './protocol.ts';

/**
 * How many HTTP/2 frames a sandbox may send. An honest supervisor coalesces (16–64 KiB a frame); a hostile one
 * sending frames of one byte took a neighbour on the same event loop from 0.2 to 18 ms a round trip, because
 * one 64 KiB read then holds 6,500 frames. Over budget the wire is slowed, not broken: its own output waits.
 */
export interface FrameBudget {
  readonly framesPerSecond: number;
  /** Frames that may pass in one go; bounds the time that one read can hold the event loop. */
  readonly burst: number;
}

export const defaultFrameBudget: FrameBudget = { framesPerSecond: 20_000, burst: 1_000 };

const headerBytes = 9;

/**
 * The largest frame that our settings allow. nghttp2 checks it too, but then wants to say goodbye, and would wait
 * for ever for a peer that does not read.
 */
const maxFrameBytes = maxPayloadBytes;

/** The type of a frame that pushes a stream. nghttp2 refuses each by itself, as long as somebody sends them. */
const pushPromise = 5;

/** Splits a byte stream at HTTP/2 frame boundaries and lets frames through at the budget's rate. */
export function createFrameBudget(budget: FrameBudget, monotonicMs: () => number): Transform {
  let tokens = budget.burst;
  let filledAt = monotonicMs();
  let header = Buffer.alloc(0);
  let payloadLeft = 0;

  const refill = (): void => {
    const now = monotonicMs();
    tokens = Math.min(budget.burst, tokens + ((now - filledAt) * budget.framesPerSecond) / 1000);
    filledAt = now;
  };

  /** Bytes of `chunk` that may pass now; charges a token for each frame that begins. */
  const admitted = (chunk: Buffer): number => {
    let at = 0;
    while (at < chunk.length) {
      if (payloadLeft > 0) {
        const step = Math.min(payloadLeft, chunk.length - at);
        payloadLeft -= step;
        at += step;
        continue;
      }
      if (header.length === 0) {
        if (tokens < 1) return at;
        tokens -= 1;
      }
      const part = chunk.subarray(at, at + headerBytes - header.length);
      header = Buffer.concat([header, part]);
      at += part.length;
      if (header.length < headerBytes) continue;
      payloadLeft = header.readUIntBE(0, 3);
      if (payloadLeft > maxFrameBytes)
        throw new RangeError(`a frame of ${payloadLeft} bytes: this is not what we agreed to speak`);
      if (header[3] === pushPromise) throw new RangeError('a pushed stream: we said that we take none');
      header = Buffer.alloc(0);
    }
    return at;
  };

  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
      const pass = (rest: Buffer): void => {
        if (this.destroyed) return;
        refill();
        let count: number;
        try {
          count = admitted(rest);
        } catch (error) {
          return done(error as Error);
        }
        if (count === rest.length) return done(null, rest);
        if (count > 0) this.push(rest.subarray(0, count));
        const waitMs = Math.max(1, Math.ceil((budget.burst / 4 / budget.framesPerSecond) * 1000));
        setTimeout(pass, waitMs, rest.subarray(count));
      };
      pass(chunk);
    },
  });
}
