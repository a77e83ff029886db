import type { EventSink } from '../../event-sink.ts';

/** Tokens as a program counts them. */
export interface ClaimedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Null: it names no price. */
  readonly costUsd: number | null;
}

/** A program's own count beside which the gateway's is shown: a claim, for all processes of the attempt together. */
export interface UsageClaim {
  /** Another process begins to count from zero. */
  nextProcess(): void;
  /** What the process has counted since its start. */
  report(counted: ClaimedUsage): void;
}

const none: ClaimedUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: null,
};

export function createUsageClaim(sink: Pick<EventSink, 'emit'>): UsageClaim {
  let before = none;
  let now = none;
  return {
    nextProcess: () => {
      before = sum(before, now);
      now = none;
    },
    report: (counted) => {
      now = counted;
      const { costUsd, ...tokens } = sum(before, now);
      sink.emit({
        type: 'reported_usage',
        ...tokens,
        costUsd: costUsd === null ? null : costUsd.toFixed(12),
      });
    },
  };
}

const sum = (one: ClaimedUsage, other: ClaimedUsage): ClaimedUsage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  costUsd: one.costUsd === null && other.costUsd === null ? null : (one.costUsd ?? 0) + (other.costUsd ?? 0),
});
