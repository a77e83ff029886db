/** How long something takes: always the same, evenly spread, or mostly short and sometimes very long. Milliseconds. */
export type Duration =
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'uniform'; readonly fromMs: number; readonly toMs: number }
  /** Pareto: half of them take about `medianMs`, one in a thousand many times that. Cut at `mostMs`. */
  | { readonly kind: 'heavy'; readonly medianMs: number; readonly shape: number; readonly mostMs: number };

/** Shares of orders, together at most 1; the rest is taken and done. */
export interface Faults {
  /** Answered 429. */
  readonly full: number;
  /** Answered 500. */
  readonly fail: number;
  /** Taken, and the connection is cut before the answer. */
  readonly cut: number;
  /** Taken, and never heard of again: the start watchdog has to find it. */
  readonly mute: number;
}

/** What simulated servers do; the same seed does the same again. */
export interface SimulationPlan {
  readonly seed: number;
  readonly servers: number;
  /** Slots of each. */
  readonly capacity: number;
  readonly pool: string;
  readonly heartbeatMs: number;
  /** From the order to `running`. */
  readonly start: Duration;
  /** From `running` to the result. */
  readonly work: Duration;
  readonly faults: Faults;
  /** What running sessions say meanwhile; absent: nothing. */
  readonly talk?: Talk;
}

/** Text of running sessions: `AT padding`, AT being when it was said (`Date.now()`). */
export interface Talk {
  readonly everyMs: number;
  readonly bytes: number;
  /** Of so many sessions, one speaks as often as `loudEveryMs`, and as much as `loudBytes`; 0: none. */
  readonly loudOneIn: number;
  readonly loudEveryMs: number;
  readonly loudBytes: number;
}

export const noFaults: Faults = { full: 0, fail: 0, cut: 0, mute: 0 };

/** Draws a duration. @param random uniform in [0, 1) */
export function drawMs(duration: Duration, random: () => number): number {
  switch (duration.kind) {
    case 'fixed':
      return duration.ms;
    case 'uniform':
      return duration.fromMs + random() * (duration.toMs - duration.fromMs);
    case 'heavy': {
      const least = duration.medianMs / 2 ** (1 / duration.shape);
      return Math.min(duration.mostMs, least / (1 - random()) ** (1 / duration.shape));
    }
  }
}

/** What becomes of an order. */
export function drawFault(faults: Faults, random: () => number): keyof Faults | null {
  let at = random();
  for (const kind of ['full', 'fail', 'cut', 'mute'] as const) {
    if (at < faults[kind]) return kind;
    at -= faults[kind];
  }
  return null;
}
