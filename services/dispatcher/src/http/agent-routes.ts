import { z } from 'zod';
import {
  agentDefinitionSchema,
  agentIdSchema,
  agentListSchema,
  agentVersionsSchema,
  agentViewSchema,
  createAgentSchema,
  pushSkillSchema,
  skillContentSchema,
  skillListSchema,
  skillViewSchema,
} from '@lemniscate/shared/api/agent.ts';
import { skillNameSchema } from '@lemniscate/shared/agents/skill-document.ts';
import {
  changeAgent,
  createAgent,
  listAgents,
  listAgentVersions,
  readAgent,
} from '../application/agents/agents.ts';
import { listSkills, pushSkill, readSkill } from '../application/agents/skills.ts';
import type { SkillDeps } from '../application/agents/skills.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

const agentParams = z.object({ agent: agentIdSchema });
const versionParams = agentParams.extend({ version: z.coerce.number().int().min(1).max(1_000_000) });
const projectParams = z.object({ id: z.string().min(1).max(128) });
const skillParams = projectParams.extend({ skill: skillNameSchema });

/** Public listener: the agents that sessions run as, each version kept. */
export function registerAgentRoutes(app: App, deps: SkillDeps): void {
  app.get('/v1/agents', { schema: { response: { 200: agentListSchema } } }, async (request) => ({
    agents: await listAgents(deps.database, personOf(request)),
  }));

  app.post(
    '/v1/agents',
    { schema: { body: createAgentSchema, response: { 201: agentViewSchema } } },
    async (request, reply) => {
      const person = personOf(request);
      await createAgent(deps, person, request.body);
      void reply.header('etag', etagOf(1));
      return reply.code(201).send(await readAgent(deps.database, person, request.body.id, null));
    },
  );

  app.get(
    '/v1/agents/:agent',
    { schema: { params: agentParams, response: { 200: agentViewSchema } } },
    async (request, reply) => {
      const found = await readAgent(deps.database, personOf(request), request.params.agent, null);
      void reply.header('etag', etagOf(found.version));
      return found;
    },
  );

  app.put(
    '/v1/agents/:agent',
    { schema: { params: agentParams, body: agentDefinitionSchema, response: { 200: agentViewSchema } } },
    async (request, reply) => {
      const person = personOf(request);
      const { agent } = request.params;
      const seen = readIfMatch(request, 'agent');
      const version = await changeAgent(deps, person, agent, { definition: request.body, seen });
      void reply.header('etag', etagOf(version));
      return readAgent(deps.database, person, agent, version);
    },
  );

  app.get(
    '/v1/agents/:agent/versions',
    { schema: { params: agentParams, response: { 200: agentVersionsSchema } } },
    async (request) => ({
      versions: await listAgentVersions(deps.database, personOf(request), request.params.agent),
    }),
  );

  app.get(
    '/v1/agents/:agent/versions/:version',
    { schema: { params: versionParams, response: { 200: agentViewSchema } } },
    (request) => readAgent(deps.database, personOf(request), request.params.agent, request.params.version),
  );
  registerSkillRoutes(app, deps);
}

/** Public listener: a project's skills, each version kept. */
function registerSkillRoutes(app: App, deps: SkillDeps): void {
  app.get(
    '/v1/projects/:id/skills',
    { schema: { params: projectParams, response: { 200: skillListSchema } } },
    async (request) => ({ skills: await listSkills(deps.database, request.params.id) }),
  );

  app.get(
    '/v1/projects/:id/skills/:skill',
    {
      schema: {
        params: skillParams,
        querystring: z.object({ version: z.coerce.number().int().min(1).max(1_000_000).optional() }),
        response: { 200: skillContentSchema },
      },
    },
    async (request, reply) => {
      const { id, skill } = request.params;
      const found = await readSkill(deps, id, skill, request.query.version ?? null);
      void reply.header('etag', etagOf(found.version));
      return found;
    },
  );

  app.put(
    '/v1/projects/:id/skills/:skill',
    { schema: { params: skillParams, body: pushSkillSchema, response: { 200: skillViewSchema } } },
    async (request, reply) => {
      const { id, skill } = request.params;
      const seen = readIfMatch(request, 'skill');
      const pushed = await pushSkill(deps, personOf(request), id, skill, request.body.files, seen);
      void reply.header('etag', etagOf(pushed.version));
      return pushed;
    },
  );
}
