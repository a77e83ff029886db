import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { pauseSession, resumeSession } from '../application/pausing/pause-session.ts';
import type { PauseSessionDeps } from '../application/pausing/pause-session.ts';
import { getSession } from '../application/sessions/read-sessions.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';

/** Public listener: puts a session away and lets it go on. A session that works is `paused` within seconds of the 202. */
export function registerPauseRoutes(app: App, deps: PauseSessionDeps): void {
  for (const [verb, act] of [
    ['pause', pauseSession],
    ['resume', resumeSession],
  ] as const)
    app.post(
      `/v1/sessions/:id/${verb}`,
      { schema: { params: sessionParams, response: { 202: sessionViewSchema } } },
      async (request, reply) => {
        await act(deps, personOf(request), request.params.id);
        return reply.code(202).send(await getSession(deps.database, request.params.id));
      },
    );
}
