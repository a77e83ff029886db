import { z } from 'zod';
import {
  askToCarrySchema,
  decidedProposalSchema,
  decideProposalSchema,
  memoryCarriesSchema,
} from '@lemniscate/shared/api/memory.ts';
import { agentIdSchema } from '@lemniscate/shared/api/agent.ts';
import { idPattern } from '@lemniscate/shared/id.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { askToCarry, decideCarry, listCarries } from '../application/agents/carry-memory.ts';
import type { CarryDeps } from '../application/agents/carry-memory.ts';
import { readMemory } from '../application/agents/memory.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

const memoryParams = z.object({ id: z.string().min(1).max(128), agent: agentIdSchema });
const ownerOf = ({ id, agent }: z.infer<typeof memoryParams>) => ({ project: id, agent });

/** Public listener: memory that is carried from one project to another, asked for and decided. */
export function registerCarryRoutes(app: App, deps: CarryDeps & { readonly clock: Clock }): void {
  const base = '/v1/projects/:id/agents/:agent/memory/carries';

  app.get(
    base,
    { schema: { params: memoryParams, response: { 200: memoryCarriesSchema } } },
    async (request) => ({ carries: await listCarries(deps.database, ownerOf(request.params)) }),
  );

  app.post(
    base,
    {
      schema: {
        params: memoryParams,
        body: askToCarrySchema,
        response: { 201: z.object({ id: z.string() }) },
      },
    },
    async (request, reply) => {
      const { from, version, paths } = request.body;
      const wanted = { from, version: version ?? null, paths: paths ?? null };
      const id = await askToCarry(deps, personOf(request), ownerOf(request.params), wanted);
      return reply.code(201).send({ id });
    },
  );

  app.post(
    `${base}/:carry`,
    {
      schema: {
        params: memoryParams.extend({
          carry: z.string().regex(idPattern('carry'), 'must be the id of a request'),
        }),
        body: decideProposalSchema,
        response: { 200: decidedProposalSchema },
      },
    },
    async (request) => {
      const owner = ownerOf(request.params);
      const notices = await decideCarry(deps, personOf(request), owner, {
        carry: request.params.carry,
        accept: request.body.decision === 'accept',
        at: deps.clock.now().toISOString(),
      });
      return { version: (await readMemory(deps.database, owner, null)).version, notices: [...notices] };
    },
  );
}
