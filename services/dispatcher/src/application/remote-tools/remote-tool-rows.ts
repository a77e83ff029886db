import type { AgentDefinition } from '@lemniscate/shared/api/agent.ts';
import type { RemoteToolView } from '@lemniscate/shared/api/remote-tool.ts';
import type { McpServer } from '@lemniscate/shared/agents/mcp-server.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { toolVerdict } from '@lemniscate/shared/policy/policy.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { splitRemoteToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import type { Transaction } from '../ports/transaction.ts';

export interface RemoteToolRow extends Record<string, unknown> {
  readonly server: string;
  readonly tool: string;
  readonly url: string;
  readonly description: string;
  readonly input_schema: JsonObject;
  readonly digest: string;
  readonly gone: boolean;
  readonly seen_at: string;
  readonly approved_digest: string | null;
  readonly approved_by: string | null;
  readonly approved_at: string | null;
}

export const remoteToolColumns = `server, tool, url, description, input_schema, digest, gone, seen_at, approved_digest,
  approved_by, approved_at`;

type Servers = Partial<Pick<AgentDefinition, 'mcpServers'>>;

/** The server of a tool, if the definition has it and lets the agent use the tool. */
export function serverOfTool(definition: Servers, name: string): McpServer | null {
  const parts = splitRemoteToolName(name);
  const server = definition.mcpServers?.find((one) => one.name === parts?.server);
  if (parts === null || server === undefined) return null;
  return server.tools?.includes(parts.tool) === false ? null : server;
}

function stateOf(row: RemoteToolRow): RemoteToolView['state'] {
  if (row.gone) return 'gone';
  if (row.approved_digest === null) return 'new';
  return row.approved_digest === row.digest ? 'approved' : 'changed';
}

/** Every tool that the agent's servers were seen to have, by name. */
export async function listRemoteTools(tx: Transaction, agent: string): Promise<RemoteToolView[]> {
  const rows = await tx.query<RemoteToolRow>(
    `SELECT ${remoteToolColumns} FROM remote_tools WHERE agent_id = $1 ORDER BY server, tool LIMIT 4000`,
    [agent],
  );
  return rows.map((row) => ({
    name: `${row.server}/${row.tool}`,
    server: row.server,
    state: stateOf(row),
    description: row.description,
    inputSchema: row.input_schema,
    digest: row.digest,
    approvedDigest: row.approved_digest,
    approvedBy: row.approved_by,
    approvedAt: row.approved_at,
    seenAt: row.seen_at,
  }));
}

/**
 * The remote tools that a session of the agent has: approved as their servers describe them, of a server that its
 * definition names, and not disabled by the policy. Under their full names.
 */
export async function usableRemoteTools(
  tx: Transaction,
  agent: string,
  definition: Servers,
  policy: Policy,
): Promise<RemoteToolDefinition[]> {
  if ((definition.mcpServers ?? []).length === 0) return [];
  const rows = await tx.query<RemoteToolRow>(
    `SELECT ${remoteToolColumns} FROM remote_tools WHERE agent_id = $1 AND approved_digest = digest AND NOT gone
     ORDER BY server, tool LIMIT 500`,
    [agent],
  );
  return rows.flatMap((row) => {
    const name = `${row.server}/${row.tool}`;
    if (serverOfTool(definition, name)?.url !== row.url || toolVerdict(policy, name) === 'disabled')
      return [];
    return [{ name, description: row.description, inputSchema: row.input_schema }];
  });
}

/** The approved tool of that name; null where there is none that this agent may use now. */
export async function findApprovedTool(
  tx: Transaction,
  agent: string,
  definition: Servers,
  name: string,
): Promise<(RemoteToolRow & { readonly approved_digest: string }) | null> {
  const parts = splitRemoteToolName(name);
  const server = serverOfTool(definition, name);
  if (parts === null || server === null) return null;
  const [row] = await tx.query<RemoteToolRow & { readonly approved_digest: string }>(
    `SELECT ${remoteToolColumns} FROM remote_tools
     WHERE agent_id = $1 AND server = $2 AND tool = $3 AND url = $4 AND approved_digest = digest AND NOT gone`,
    [agent, parts.server, parts.tool, server.url],
  );
  return row ?? null;
}
