/** A span in which the session waited for a person; `to` is null while it still waits. Times are ISO texts. */
export interface Wait {
  readonly from: string;
  readonly to: string | null;
}

/**
 * Milliseconds that a session has waited for people: the union of the spans, so that two approvals that wait at the
 * same time count once. Waiting does not use up the session's minutes.
 */
export function waitedMs(waits: readonly Wait[], now: string): number {
  const spans = waits
    .map(({ from, to }) => ({ from: Date.parse(from), to: Date.parse(to ?? now) }))
    .sort((left, right) => left.from - right.from);
  let total = 0;
  let until = -Infinity;
  for (const span of spans) {
    total += Math.max(0, span.to - Math.max(span.from, until));
    until = Math.max(until, span.to);
  }
  return total;
}
