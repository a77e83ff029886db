import { setTimeout as delay } from 'node:timers/promises';
import { createBackoff } from './backoff.ts';
import type { Log } from './ports/log.ts';
import type { SandboxProfile } from './ports/sandbox-driver.ts';
import { createGate } from './signal-gate.ts';

/** Keeps the pool full: one boot at a time, on a signal and on a timer, slower after failures. */
export interface Refill {
  start(): void;
  wake(): void;
  /** A boot outside the refill went wrong or well; the health is the machine's, whoever asked for the boot. */
  failed(error: unknown): void;
  succeeded(): void;
  unhealthy(): string | null;
  stop(): Promise<void>;
}

/**
 * A boot takes the processor for some 60 ms. Begun at once after a claim it would compete with the session that has
 * just claimed, so it waits until that session's first command has had its chance.
 */
const afterClaimMs = 50;
const timerMs = 5000;
const failuresUntilUnhealthy = 3;

export function createRefill(deps: {
  readonly log: Log;
  /** The profile that is short of a sandbox, if any. */
  missing(): SandboxProfile | null;
  boot(profile: SandboxProfile): Promise<void>;
  onChange(): void;
}): Refill {
  const stopping = new AbortController();
  const changed = createGate();
  const backoff = createBackoff(500, 30_000);
  let failures = 0;
  let lastFault = '';
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function failed(error: unknown): void {
    failures += 1;
    lastFault = error instanceof Error ? error.message : String(error);
    deps.log.error({ error: lastFault, failures }, 'a sandbox did not start');
    if (failures < failuresUntilUnhealthy) return;
    deps.onChange();
    changed.wake();
  }

  function succeeded(): void {
    const recovered = failures >= failuresUntilUnhealthy;
    failures = 0;
    backoff.reset();
    if (recovered) deps.onChange();
  }

  async function fillOnce(first: boolean): Promise<void> {
    await changed.until(() => deps.missing() !== null, stopping.signal);
    if (!first) await delay(afterClaimMs, undefined, { signal: stopping.signal });
    const profile = deps.missing();
    if (profile === null) return;
    try {
      await deps.boot(profile);
      succeeded();
      deps.onChange();
    } catch (error) {
      failed(error);
      await delay(backoff.next(), undefined, { signal: stopping.signal });
    }
  }

  async function run(): Promise<void> {
    for (let first = true; !stopping.signal.aborted; first = false) {
      try {
        await fillOnce(first);
      } catch (error) {
        if (!stopping.signal.aborted) deps.log.error({ err: error }, 'the refill failed');
      }
    }
  }

  return {
    start: () => {
      timer = setInterval(changed.wake, timerMs);
      running = run();
    },
    wake: changed.wake,
    failed,
    succeeded,
    unhealthy: () =>
      failures < failuresUntilUnhealthy ? null : `${failures} sandboxes in a row did not start: ${lastFault}`,
    stop: async () => {
      clearInterval(timer);
      stopping.abort(new Error('The pool is closed.'));
      await running;
    },
  };
}
