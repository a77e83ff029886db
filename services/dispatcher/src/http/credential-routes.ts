import { z } from 'zod';
import { agentIdSchema } from '@lemniscate/shared/api/agent.ts';
import { credentialListSchema, setCredentialSchema } from '@lemniscate/shared/api/credential.ts';
import { credentialNameSchema } from '@lemniscate/shared/protocol/credential.ts';
import {
  listAgentCredentials,
  removeAgentCredential,
  setAgentCredential,
} from '../application/agents/agent-credentials.ts';
import type { AgentCredentialDeps } from '../application/agents/agent-credentials.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

const agentParams = z.object({ agent: agentIdSchema });
const nameParams = agentParams.extend({ name: credentialNameSchema });

/** Public listener: what agents log in with, set and removed, listed by name, never read. */
export function registerCredentialRoutes(app: App, deps: AgentCredentialDeps): void {
  app.get(
    '/v1/agents/:agent/credentials',
    { schema: { params: agentParams, response: { 200: credentialListSchema } } },
    async (request) => ({
      credentials: await listAgentCredentials(deps, personOf(request), request.params.agent),
    }),
  );

  app.put(
    '/v1/agents/:agent/credentials/:name',
    { schema: { params: nameParams, body: setCredentialSchema } },
    async (request, reply) => {
      const { agent, name } = request.params;
      const seen = readIfMatch(request, 'credential');
      const version = await setAgentCredential(
        deps,
        personOf(request),
        agent,
        name,
        request.body.value,
        seen,
      );
      void reply.header('etag', etagOf(version));
      return reply.code(204).send();
    },
  );

  app.delete(
    '/v1/agents/:agent/credentials/:name',
    { schema: { params: nameParams } },
    async (request, reply) => {
      const { agent, name } = request.params;
      await removeAgentCredential(deps, personOf(request), agent, name, readIfMatch(request, 'credential'));
      return reply.code(204).send();
    },
  );
}
