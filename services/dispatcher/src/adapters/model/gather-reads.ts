/** What the gathering needs of the machine. */
export interface GatherClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Calls back when this turn of the event loop has read and written what there was. */
  atTurnsEnd(callback: () => void): void;
  /** Stands still. Milliseconds. */
  stand(ms: number): void;
}

/**
 * How long the event loop stands before it asks again what has come, while many answers flow. Milliseconds. Half of it is what a
 * piece comes later by; the promise is 1.
 */
const standMs = 0.6;
/** Pieces a millisecond from which on there is something to gather: some twenty answers at full speed. */
const leastRate = 1;
/** A turn that found so many needs no gathering, so that a gateway that is busy never stands. */
const enough = 16;
/** The rate is taken over so long. Milliseconds. */
const windowMs = 50;

/**
 * Lets pieces of answers gather, as a network card does with packets: whoever relays ten thousand pieces a second wakes, asks, reads
 * and writes for each of them alone, and to do that for ten at a time takes a tenth to a fifth less processor time
 * (docs/decisions/2026-12-01-pieces-gather.md). A piece is never held: it has been passed on when the loop stands.
 */
export function createReadGatherer(clock: GatherClock = machine): { note(): void } {
  let pieces = 0;
  let counted = 0;
  let since = clock.now();
  let rate = 0;

  function turnEnds(): void {
    const now = clock.now();
    const found = pieces;
    pieces = 0;
    counted += found;
    if (now - since >= windowMs) {
      rate = counted / (now - since);
      counted = 0;
      since = now;
    }
    if (rate >= leastRate && found < enough) clock.stand(standMs);
  }

  return {
    note: () => {
      if (pieces === 0) clock.atTurnsEnd(turnEnds);
      pieces += 1;
    },
  };
}

const cell = new Int32Array(new SharedArrayBuffer(4));
const machine: GatherClock = {
  now: () => performance.now(),
  atTurnsEnd: (callback) => void setImmediate(callback),
  stand: (ms) => void Atomics.wait(cell, 0, 0, ms),
};
