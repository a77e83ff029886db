import { z } from 'zod';
import { agentIdSchema } from '@lemniscate/shared/api/agent.ts';
import { approveRemoteToolsSchema, remoteToolListSchema } from '@lemniscate/shared/api/remote-tool.ts';
import { readAgent } from '../application/agents/agents.ts';
import { approveRemoteTools } from '../application/remote-tools/approve-remote-tools.ts';
import { lookAtServers } from '../application/remote-tools/look-at-servers.ts';
import type { RemoteToolDeps } from '../application/remote-tools/look-at-servers.ts';
import { listRemoteTools } from '../application/remote-tools/remote-tool-rows.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

const agentParams = z.object({ agent: agentIdSchema });

/** Public listener: tools of an agent's MCP servers, seen and approved. */
export function registerRemoteToolRoutes(app: App, deps: RemoteToolDeps): void {
  app.get(
    '/v1/agents/:agent/remote-tools',
    { schema: { params: agentParams, response: { 200: remoteToolListSchema } } },
    async (request) => {
      const { id } = await readAgent(deps.database, personOf(request), request.params.agent, null);
      return { tools: await listRemoteTools(deps.database, id) };
    },
  );

  app.post(
    '/v1/agents/:agent/remote-tools/look',
    { schema: { params: agentParams, response: { 200: remoteToolListSchema } } },
    (request) => lookAtServers(deps, personOf(request), request.params.agent),
  );

  app.post(
    '/v1/agents/:agent/remote-tools/approve',
    {
      schema: {
        params: agentParams,
        body: approveRemoteToolsSchema,
        response: { 200: remoteToolListSchema },
      },
    },
    async (request) => {
      const { agent } = request.params;
      await approveRemoteTools(deps, personOf(request), agent, request.body.tools);
      return { tools: await listRemoteTools(deps.database, agent) };
    },
  );
}
