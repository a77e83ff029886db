import { z } from 'zod';
import {
  buildEnvironmentSchema,
  environmentListSchema,
  environmentViewSchema,
} from '@lemniscate/shared/api/environment.ts';
import {
  resolvedEnvironmentSchema,
  resolveEnvironmentSchema,
} from '@lemniscate/shared/protocol/environment.ts';
import { askBuild } from '../application/environments/ask-build.ts';
import type { AskBuildDeps } from '../application/environments/ask-build.ts';
import { listEnvironments, readEnvironment } from '../application/environments/environment-row.ts';
import { resolveEnvironment } from '../application/environments/resolve-environment.ts';
import type { ResolveDeps } from '../application/environments/resolve-environment.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';
import { personOf } from './identity.ts';

const projectParams = z.object({ id: z.string().min(1).max(128) });
const environmentParams = projectParams.extend({ environment: z.string().min(1).max(64) });

/** Public listener: a project's environments. The log of a build is that of its session. */
export function registerEnvironmentRoutes(app: App, deps: AskBuildDeps): void {
  app.get(
    '/v1/projects/:id/environments',
    { schema: { params: projectParams, response: { 200: environmentListSchema } } },
    async (request) => ({ environments: await listEnvironments(deps.database, request.params.id) }),
  );

  app.get(
    '/v1/projects/:id/environments/:environment',
    { schema: { params: environmentParams, response: { 200: environmentViewSchema } } },
    (request) => readEnvironment(deps.database, request.params.id, request.params.environment),
  );

  app.post(
    '/v1/projects/:id/environments',
    {
      schema: {
        params: projectParams,
        body: buildEnvironmentSchema,
        response: { 202: environmentViewSchema },
      },
    },
    async (request, reply) => {
      const project = request.params.id;
      const id = await askBuild(deps, personOf(request), project, request.body.repository);
      return reply.code(202).send(await readEnvironment(deps.database, project, id));
    },
  );
}

/** Internal listener: a server asks for the environment that a session needs. */
export function registerResolveEnvironmentRoute(app: App, deps: ResolveDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/environment',
    {
      schema: {
        params: attemptParams,
        body: resolveEnvironmentSchema,
        response: { 200: resolvedEnvironmentSchema },
      },
    },
    (request) => resolveEnvironment(deps, claimOf(request, request.params), request.body),
  );
}
