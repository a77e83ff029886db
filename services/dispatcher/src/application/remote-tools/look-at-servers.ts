import type { AgentView } from '@lemniscate/shared/api/agent.ts';
import type { RemoteToolView } from '@lemniscate/shared/api/remote-tool.ts';
import type { McpServer } from '@lemniscate/shared/agents/mcp-server.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { remoteToolDigest, serverToolNameSchema } from '@lemniscate/shared/tools/remote-tool.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import { readAgent, requireAgentAdmin } from '../agents/agents.ts';
import type { AgentDeps } from '../agents/agents.ts';
import { someText } from '../json-walk.ts';
import type { Person } from '../identity.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { RemoteServers } from '../ports/remote-servers.ts';
import type { Transaction } from '../ports/transaction.ts';
import { faultOfSchema } from './check-arguments.ts';
import { reachServer } from './reach-server.ts';
import { listRemoteTools } from './remote-tool-rows.ts';

export interface RemoteToolDeps extends AgentDeps {
  readonly credentials: CredentialStore;
  readonly remoteServers: RemoteServers;
}

/** How long a server may take to tell its tools. Milliseconds. */
const lookMs = 15_000;
const maxDescription = 16 * 1024;

/**
 * Asks an agent's servers for their tools and notes them as they are described now. Nothing becomes usable by it.
 * @returns every known tool, and what could not be learnt, as sentences
 * @throws CodedError `agent_unknown`, `forbidden`
 */
export async function lookAtServers(
  deps: RemoteToolDeps,
  person: Person,
  agentId: string,
): Promise<{ readonly tools: RemoteToolView[]; readonly notices: string[] }> {
  const agent = await readAgent(deps.database, person, agentId, null);
  requireAgentAdmin(person, agent.project, 'ask the servers of this agent');
  const looks = (agent.definition.mcpServers ?? []).map((server) => look(deps, agent, server));
  const notices = (await Promise.all(looks)).flat();
  return { tools: await listRemoteTools(deps.database, agentId), notices };
}

async function look(deps: RemoteToolDeps, agent: AgentView, server: McpServer): Promise<string[]> {
  try {
    const reached = await reachServer(deps.database, deps.credentials, agent.id, server);
    const signal = AbortSignal.timeout(lookMs);
    const found = await deps.remoteServers.use(reached, signal, (connection) => connection.list());
    const notices: string[] = [];
    const usable = found.filter((tool) => {
      const fault = faultOfTool(tool);
      if (fault !== null) notices.push(`${server.name}/${tool.name.slice(0, 100)} cannot be used: ${fault}.`);
      return fault === null;
    });
    await deps.database.transaction((tx) => noteTools(tx, agent.id, server, usable));
    return notices;
  } catch (error) {
    if (isCodedError(error) && error.code !== 'internal') return [error.message];
    throw error;
  }
}

function faultOfTool(tool: RemoteToolDefinition): string | null {
  if (!serverToolNameSchema.safeParse(tool.name).success) return 'its name could not stand in a policy';
  if (tool.description.length > maxDescription)
    return `its description is longer than ${maxDescription} characters`;
  if (someText(tool, (text) => text.includes('\0') || !text.isWellFormed()))
    return 'its description is no valid text';
  return faultOfSchema(tool.inputSchema);
}

async function noteTools(
  tx: Transaction,
  agent: string,
  server: McpServer,
  found: readonly RemoteToolDefinition[],
): Promise<void> {
  // Behind another address is another server: what somebody approved was not this.
  await tx.query(
    `UPDATE remote_tools SET gone = true,
       approved_digest = CASE WHEN url = $3 THEN approved_digest END,
       approved_by = CASE WHEN url = $3 THEN approved_by END,
       approved_at = CASE WHEN url = $3 THEN approved_at END
     WHERE agent_id = $1 AND server = $2`,
    [agent, server.name, server.url],
  );
  for (const tool of found)
    await tx.query(
      `INSERT INTO remote_tools (agent_id, server, tool, url, description, input_schema, digest)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (agent_id, server, tool) DO UPDATE SET url = excluded.url, description = excluded.description,
         input_schema = excluded.input_schema, digest = excluded.digest, gone = false, seen_at = now()`,
      [
        agent,
        server.name,
        tool.name,
        server.url,
        tool.description,
        JSON.stringify(tool.inputSchema),
        remoteToolDigest(tool),
      ],
    );
}
