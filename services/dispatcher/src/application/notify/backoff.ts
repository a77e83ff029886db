/** How long is waited after each failed try, as Standard Webhooks recommends. Seconds. */
const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Tries of one message in all. */
export const mostTries = waits.length + 1;
/** A receiver may ask for no more than this. Seconds. */
const longestAsked = 86_400;

/**
 * When a message is tried again that has failed so often: later where the receiver says so, and never two receivers at the
 * same moment. Seconds; null: not any more.
 */
export function nextWait(tries: number, asked: number | undefined, random: () => number): number | null {
  const wait = waits[tries - 1];
  if (wait === undefined) return null;
  const least = Math.max(wait, Math.min(asked ?? 0, longestAsked));
  return least * (1 + random() * 0.1);
}
