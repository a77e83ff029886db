import { z } from 'zod';
import {
  createProjectSchema,
  policyVersionSchema,
  policyVersionsSchema,
  projectListSchema,
} from '@lemniscate/shared/api/project.ts';
import { maxPolicyLength } from '@lemniscate/shared/policy/policy-file.ts';
import { policyJsonSchema } from '@lemniscate/shared/policy/policy-json-schema.ts';
import { changePolicy, createProject } from '../application/projects/change-policy.ts';
import type { ProjectDeps } from '../application/projects/change-policy.ts';
import {
  listPolicyVersions,
  listProjects,
  readPolicyVersion,
} from '../application/projects/policy-versions.ts';
import { roles } from '@lemniscate/shared/identity/roles.ts';
import { projectsWith } from '../application/identity.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { readIfMatch } from './versions.ts';

const projectParams = z.object({ id: z.string().min(1).max(128) });
const versionParams = projectParams.extend({ version: z.coerce.number().int().min(1) });

/** A policy's text may have characters of four bytes. */
const policyBodyLimit = 4 * maxPolicyLength;
const policyMediaTypes = ['application/yaml', 'application/json'];

/** Public listener: projects and their policies, each version kept. */
export function registerProjectRoutes(app: App, deps: ProjectDeps): void {
  app.get('/v1/projects', { schema: { response: { 200: projectListSchema } } }, async (request) => ({
    projects: await listProjects(deps.database, projectsWith(personOf(request), ...roles)),
  }));

  app.post(
    '/v1/projects',
    {
      bodyLimit: policyBodyLimit,
      schema: { body: createProjectSchema, response: { 201: policyVersionSchema } },
    },
    async (request, reply) => {
      await createProject(deps, personOf(request), request.body);
      return reply.code(201).send(await readPolicyVersion(deps.database, request.body.id, null));
    },
  );

  app.get('/v1/policy-schema', { schema: { response: { 200: z.record(z.string(), z.unknown()) } } }, () =>
    policyJsonSchema(),
  );

  app.get(
    '/v1/projects/:id/policy',
    { schema: { params: projectParams, response: { 200: policyVersionSchema } } },
    async (request, reply) => {
      const found = await readPolicyVersion(deps.database, request.params.id, null);
      void reply.header('etag', `"${found.version}"`);
      return found;
    },
  );

  app.get(
    '/v1/projects/:id/policies',
    { schema: { params: projectParams, response: { 200: policyVersionsSchema } } },
    async (request) => ({ versions: await listPolicyVersions(deps.database, request.params.id) }),
  );

  app.get(
    '/v1/projects/:id/policies/:version',
    { schema: { params: versionParams, response: { 200: policyVersionSchema } } },
    (request) => readPolicyVersion(deps.database, request.params.id, request.params.version),
  );

  registerPolicyChange(app, deps);
}

/** The body is read as text, whatever it is: faults are then told with their lines. */
function registerPolicyChange(app: App, deps: ProjectDeps): void {
  void app.register((scope: App, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      policyMediaTypes,
      { parseAs: 'string', bodyLimit: policyBodyLimit },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.put(
      '/v1/projects/:id/policy',
      { schema: { params: projectParams, response: { 200: policyVersionSchema } } },
      async (request, reply) => {
        const { id } = request.params;
        const seen = readIfMatch(request, 'policy');
        const version = await changePolicy(deps, personOf(request), id, { text: String(request.body), seen });
        void reply.header('etag', `"${version}"`);
        return readPolicyVersion(deps.database, id, version);
      },
    );
    done();
  });
}
