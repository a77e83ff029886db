import type { HistoryEvent } from './history.ts';

/** What became of the sessions that were asked for; twins under one key are one ask. */
export interface Asks {
  readonly asked: number;
  readonly accepted: number;
  /** By code. */
  readonly refused: Readonly<Record<string, number>>;
  /** Neither: the promise that every ask is answered is broken then. */
  readonly unanswered: number;
}

export function countAsks(history: readonly HistoryEvent[]): Asks {
  const asked = new Set<string>();
  const accepted = new Set<string>();
  const refused = new Map<string, string>();
  for (const event of history) {
    if (event.what === 'asked') asked.add(event.key);
    if (event.what === 'accepted') accepted.add(event.key);
    if (event.what === 'refused') refused.set(event.key, event.code);
  }
  const codes = Map.groupBy(
    [...refused].filter(([key]) => !accepted.has(key)),
    ([, code]) => code,
  );
  return {
    asked: asked.size,
    accepted: accepted.size,
    refused: Object.fromEntries([...codes].map(([code, keys]) => [code, keys.length])),
    unanswered: [...asked].filter((key) => !accepted.has(key) && !refused.has(key)).length,
  };
}
