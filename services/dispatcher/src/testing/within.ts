import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a state, never for time: looks until the condition holds.
 * @throws when it does not hold in time, naming what was waited for
 */
export async function within(
  ms: number,
  what: string,
  condition: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + ms;
  for (;;) {
    if (await condition()) return;
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(5);
  }
}
