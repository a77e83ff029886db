import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a state, asking every few milliseconds; throws with its name when it does not come in time. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 30_000,
): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await isSo()); await sleep(5))
    if (Date.now() > deadline) throw new Error(`After ${withinMs} ms it was still not so that ${what}.`);
}
