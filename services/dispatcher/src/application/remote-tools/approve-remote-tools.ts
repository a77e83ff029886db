import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import { splitRemoteToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import { readAgent, requireAgentAdmin } from '../agents/agents.ts';
import type { AgentDeps } from '../agents/agents.ts';
import type { Person } from '../identity.ts';

/** A tool, by the digest of the description that the person saw. */
export interface SeenTool {
  readonly name: string;
  readonly digest: string;
}

/**
 * A person's word that an agent may have these tools as they are described. All of them, or none.
 * @throws CodedError `agent_unknown`, `forbidden` (a program too), `version_conflict` where a server has changed a tool
 *   since it was looked at, `not_found`
 */
export async function approveRemoteTools(
  deps: AgentDeps,
  person: Person,
  agentId: string,
  seen: readonly SeenTool[],
): Promise<void> {
  const agent = await readAgent(deps.database, person, agentId, null);
  requireAgentAdmin(person, agent.project, 'approve tools of this agent');
  if (person.kind !== 'human')
    throw new CodedError(
      'forbidden',
      `${person.name} is a program. What tools an agent is given is decided by a person.`,
    );
  await deps.database.transaction(async (tx) => {
    for (const { name, digest } of seen) {
      const parts = splitRemoteToolName(name);
      const [row] = await tx.query<{ digest: string; gone: boolean }>(
        'SELECT digest, gone FROM remote_tools WHERE agent_id = $1 AND server = $2 AND tool = $3 FOR UPDATE',
        [agentId, parts?.server, parts?.tool],
      );
      if (row === undefined || row.gone)
        throw new CodedError(
          'not_found',
          `No server of agent "${agentId}" has a tool ${name}. Ask the servers first.`,
        );
      if (row.digest !== digest)
        throw new CodedError(
          'version_conflict',
          `${name} is described otherwise by now. Look at it again and approve that.`,
          { tool: name },
        );
      await tx.query(
        `UPDATE remote_tools SET approved_digest = digest, approved_by = $4, approved_at = now()
         WHERE agent_id = $1 AND server = $2 AND tool = $3`,
        [agentId, parts?.server, parts?.tool, person.subject],
      );
    }
    const chain = agent.project === everyProject ? fleetChain : reviewChain(agent.project);
    await deps.audit.append(
      tx,
      chain,
      seen.map(({ name, digest }) => ({
        type: 'remote_tool.approved' as const,
        subject: person.subject,
        body: { agent: agentId, project: agent.project, tool: name, definitionDigest: digest },
      })),
    );
  });
}
