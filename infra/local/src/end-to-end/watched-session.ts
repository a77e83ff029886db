import { setTimeout as delay } from 'node:timers/promises';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import type { OpenRequest } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { TestFleet } from './test-fleet.ts';

/** A session with everything that has been seen of it so far. */
export async function watchSession(
  { client }: TestFleet,
  request: Partial<OpenRequest> & { readonly repositoryFolder: string },
) {
  const signal = AbortSignal.timeout(4 * 60_000);
  const { session } = await openSession(
    client,
    {
      instruction: 'run `true`',
      project: 'lab',
      execution: 'server',
      interactive: true,
      ...request,
    },
    signal,
  );
  const events: PositionedEvent[] = [];
  let arrived = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const event of followSession(client, {
      sessionId: session.id,
      after: 0,
      signal,
      patienceMs: 60_000,
    })) {
      events.push(event);
      arrived.resolve();
      arrived = Promise.withResolvers();
    }
  })();
  const view = () => client.json(`/v1/sessions/${session.id}`, sessionViewSchema);
  return {
    id: session.id,
    events,
    view,
    seen: async (what: string, look: (event: SessionEvent) => boolean, times = 1) => {
      const deadline = performance.now() + 60_000;
      while (events.filter(({ event }) => look(event)).length < times) {
        if (performance.now() > deadline)
          throw new Error(`not seen: ${what}; ${JSON.stringify(events.slice(-6).map(({ event }) => event))}`);
        await Promise.race([arrived.promise, delay(1_000)]);
      }
    },
    ended: async (): Promise<SessionView> => {
      await following;
      return view();
    },
  };
}
export type WatchedSession = Awaited<ReturnType<typeof watchSession>>;

/** Kills the agent server that the session is on. */
export async function killServerOf({ fleet }: TestFleet, { view }: WatchedSession): Promise<void> {
  const { server } = await view();
  const pid = fleet.services.find(({ name }) => name === server)?.pid();
  if (pid === undefined) throw new Error(`${server} does not run`);
  process.kill(pid, 'SIGKILL');
}
