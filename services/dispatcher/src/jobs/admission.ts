import { admitSessions } from '../application/admission/admit-sessions.ts';
import type { AdmitDeps } from '../application/admission/admit-sessions.ts';
import { waitingClasses } from '../application/admission/known-classes.ts';
import type { Log } from '../application/ports/log.ts';
import { defaultPool, pinnedPool } from '../application/servers/configured-server.ts';
import { startLoop } from './loop.ts';
import type { Loop } from './loop.ts';

/** Classes take no turns with each other: a loop each, so that none waits for another one's servers. */
export function startAdmission(deps: AdmitDeps & { readonly log: Log }): Loop {
  const loops = new Map<string, Loop>();
  let stopped = false;
  const loopOf = (placementClass: string): void => {
    if (stopped || loops.has(placementClass)) return;
    loops.set(
      placementClass,
      startLoop({
        name: `admission of ${placementClass}`,
        everyMs: 1_000,
        log: deps.log,
        work: () => admitSessions(deps, placementClass),
      }),
    );
  };
  for (const usual of [defaultPool, pinnedPool]) loopOf(usual);
  const discovery = startLoop({
    name: 'classes',
    everyMs: 1_000,
    log: deps.log,
    work: async () => (await waitingClasses(deps.database)).forEach(loopOf),
  });
  return {
    kick: () => {
      for (const loop of loops.values()) loop.kick();
    },
    stop: async (timeoutMs) => {
      stopped = true;
      await Promise.all([discovery, ...loops.values()].map((loop) => loop.stop(timeoutMs)));
    },
  };
}
