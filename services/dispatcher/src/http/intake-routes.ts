import { z } from 'zod';
import {
  intakeScopeSchema,
  pauseIntakeSchema,
  pausedIntakesSchema,
  stopFleetSchema,
  stoppedFleetSchema,
} from '@lemniscate/shared/api/intake.ts';
import { listPauses, pauseIntake, resumeIntake } from '../application/intake/pause-intake.ts';
import type { IntakeDeps } from '../application/intake/pause-intake.ts';
import { stopFleet } from '../application/intake/stop-fleet.ts';
import type { StopFleetDeps } from '../application/intake/stop-fleet.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { readIfMatch } from './versions.ts';

export type IntakeRouteDeps = IntakeDeps & StopFleetDeps;

const scopeParams = z.object({ scope: intakeScopeSchema });

/** Public listener: an operator pauses intake; an administrator stops everything. */
export function registerIntakeRoutes(app: App, deps: IntakeRouteDeps): void {
  const paused = async () => ({ paused: await listPauses(deps.database) });

  app.get('/v1/intake', { schema: { response: { 200: pausedIntakesSchema } } }, paused);

  app.put(
    '/v1/intake/:scope',
    { schema: { params: scopeParams, body: pauseIntakeSchema, response: { 200: pausedIntakesSchema } } },
    async (request) => {
      await pauseIntake(deps, personOf(request), request.params.scope, request.body.note ?? null);
      return paused();
    },
  );

  app.delete(
    '/v1/intake/:scope',
    { schema: { params: scopeParams, response: { 200: pausedIntakesSchema } } },
    async (request) => {
      await resumeIntake(deps, personOf(request), request.params.scope, readIfMatch(request, 'pause'));
      return paused();
    },
  );

  app.post(
    '/v1/fleet/stop',
    { schema: { body: stopFleetSchema, response: { 200: stoppedFleetSchema } } },
    async (request) => ({ sessionsEnded: await stopFleet(deps, personOf(request), request.body) }),
  );
}
