import type { TestContext } from 'node:test';

/** How often what waits for a signal looks by itself, in milliseconds. */
const recheckMs = 1_000;
const neverMs = 3_600_000;

/** For the rest of the test nothing looks again each second by itself: what is answered, a signal has answered. */
export function withoutRechecks(t: TestContext): void {
  const real = setTimeout;
  const late = (act: (...given: unknown[]) => void, ms?: number, ...given: unknown[]): NodeJS.Timeout =>
    real(act, ms === recheckMs ? neverMs : ms, ...given);
  t.mock.method(globalThis, 'setTimeout', late);
}
