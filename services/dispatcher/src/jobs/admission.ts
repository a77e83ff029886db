import { admitSessions } from '../application/admission/admit-sessions.ts';
import type { AdmitDeps } from '../application/admission/admit-sessions.ts';
import { isAnyWaiting, waitingPools } from '../application/admission/known-classes.ts';
import type { Log } from '../application/ports/log.ts';
import { defaultPool, pinnedPool } from '../application/servers/configured-server.ts';
import { startLoop } from './loop.ts';
import type { Loop } from './loop.ts';

/** Admission of all pools. `kick` looks whether anybody waits. */
export interface Admission extends Loop {
  /** A session has just been opened or queued again, for this pool if it is known: there is no need to look first. */
  opened(pool: string | null): void;
}

/** Pools share no servers: a loop each, so that none waits for another one's. */
export function startAdmission(deps: AdmitDeps & { readonly log: Log }): Admission {
  const loops = new Map<string, Loop>();
  const certain = new Set<string>();
  let stopped = false;
  const loopOf = (pool: string): void => {
    if (stopped || loops.has(pool)) return;
    loops.set(
      pool,
      startLoop({
        name: `admission of ${pool}`,
        everyMs: 1_000,
        log: deps.log,
        work: async () => {
          // Most kicks come from slots that were freed while nobody waits. A bite costs four statements under a lock; one
          // that finds nothing ran 14 times a session.
          if (certain.delete(pool) || (await isAnyWaiting(deps.database, pool)))
            await admitSessions(deps, pool);
        },
      }),
    );
  };
  for (const usual of [defaultPool, pinnedPool]) loopOf(usual);
  const discovery = startLoop({
    name: 'pools',
    everyMs: 1_000,
    log: deps.log,
    work: async () => (await waitingPools(deps.database)).forEach(loopOf),
  });
  const kick = (): void => {
    for (const loop of loops.values()) loop.kick();
  };
  return {
    kick,
    opened: (pool) => {
      // Where nobody has said which: nearly all are in the usual one, and the others look.
      certain.add(pool ?? defaultPool);
      if (pool === null) return kick();
      loopOf(pool);
      loops.get(pool)?.kick();
    },
    stop: async (timeoutMs) => {
      stopped = true;
      await Promise.all([discovery, ...loops.values()].map((loop) => loop.stop(timeoutMs)));
    },
  };
}
