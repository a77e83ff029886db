import { appendFileSync } from 'node:fs';

/** What the harness did and what it was told, in order. */
export type HistoryEvent =
  | { readonly what: 'asked'; readonly key: string; readonly seed: number; readonly project: string }
  | { readonly what: 'accepted'; readonly key: string; readonly id: string }
  | { readonly what: 'refused'; readonly key: string; readonly code: string }
  /** Asked until the deadline, and nobody said yes or no. */
  | {
      readonly what: 'unanswered';
      readonly key: string;
      readonly asked: 'session' | 'stop' | 'pause' | 'resume';
    }
  | { readonly what: 'stopped'; readonly id: string }
  | { readonly what: 'fault'; readonly fault: string; readonly on: string; readonly forMs?: number }
  | { readonly what: 'healed'; readonly fault: string; readonly on: string };

export interface History {
  readonly events: readonly HistoryEvent[];
  note(event: HistoryEvent): void;
}

/** Keeps the history, and writes it to a file as it comes: a harness that dies leaves it. */
export function openHistory(file: string): History {
  const events: HistoryEvent[] = [];
  const from = performance.now();
  return {
    events,
    note: (event) => {
      events.push(event);
      appendFileSync(file, `${JSON.stringify({ atMs: Math.round(performance.now() - from), ...event })}\n`);
    },
  };
}
