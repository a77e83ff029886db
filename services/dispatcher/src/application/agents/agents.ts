import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { agentDefinitionSchema } from '@lemniscate/shared/api/agent.ts';
import type { AgentDefinition, AgentView } from '@lemniscate/shared/api/agent.ts';
import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { requireProject } from '../access/role-bindings.ts';
import { projectsSeenBy, requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';

export interface AgentDeps {
  readonly database: Database;
  readonly audit: AuditLog;
}

/** The agent of sessions that name none. */
export const defaultAgent = 'default';

interface AgentRow extends Record<string, unknown> {
  readonly id: string;
  readonly project_id: string;
  readonly version: number;
  readonly definition: unknown;
  readonly digest: string;
  readonly changed_by: string;
  readonly changed_at: string;
}

const select = `SELECT a.id, a.project_id, v.version, v.definition, v.digest, v.changed_by, v.changed_at
  FROM agents a JOIN agent_versions v ON v.agent_id = a.id`;

function toView(row: AgentRow): AgentView {
  return {
    id: row.id,
    project: row.project_id,
    version: row.version,
    definition: agentDefinitionSchema.parse(row.definition),
    digest: row.digest,
    changedBy: row.changed_by,
    changedAt: row.changed_at,
  };
}

const digestOf = (definition: AgentDefinition): string =>
  createHash('sha256')
    .update(canonicalize(definition) ?? '')
    .digest('hex');

/**
 * Creates an agent.
 * @throws CodedError `forbidden`, `project_unknown`, `conflict` when the name is taken
 */
export async function createAgent(
  deps: AgentDeps,
  person: Person,
  agent: { readonly id: string; readonly project: string; readonly definition: AgentDefinition },
): Promise<void> {
  requireAgentAdmin(person, agent.project);
  await deps.database.transaction(async (tx) => {
    await requireProject(tx, agent.project);
    const added = await tx.query(
      'INSERT INTO agents (id, project_id, definition) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id',
      [agent.id, agent.project, JSON.stringify(agent.definition)],
    );
    if (added.length === 0)
      throw new CodedError('conflict', `The name "${agent.id}" is taken by an agent. Choose another.`, {
        agent: agent.id,
      });
    await record(deps, tx, person, { ...agent, version: 1 });
  });
}

/**
 * Changes an agent for every session that opens from now on. Guarded by the version that the author saw; a definition
 * that says the same is no new version.
 * @returns the version in force
 * @throws CodedError `agent_unknown`, `forbidden`, `version_conflict`
 */
export async function changeAgent(
  deps: AgentDeps,
  person: Person,
  id: string,
  change: { readonly definition: AgentDefinition; readonly seen: number },
): Promise<number> {
  return deps.database.transaction(async (tx) => {
    const [current] = await tx.query<{ project_id: string; version: number; digest: string }>(
      `SELECT a.project_id, a.version, v.digest FROM agents a
       JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version WHERE a.id = $1 FOR UPDATE OF a`,
      [id],
    );
    if (current === undefined || !isSeenBy(person, current.project_id)) throw unknownAgent(id, []);
    requireAgentAdmin(person, current.project_id);
    if (current.version !== change.seen)
      throw new CodedError(
        'version_conflict',
        `Agent "${id}" is at version ${current.version}, not ${change.seen}. Read it again and change that.`,
        { agent: id, version: current.version },
      );
    if (current.digest === digestOf(change.definition)) return current.version;
    const version = current.version + 1;
    await tx.query('UPDATE agents SET version = $2, definition = $3 WHERE id = $1', [
      id,
      version,
      JSON.stringify(change.definition),
    ]);
    await record(deps, tx, person, {
      id,
      project: current.project_id,
      definition: change.definition,
      version,
    });
    return version;
  });
}

/** An agent of every project is an administrator's to handle. @throws CodedError `forbidden` */
export function requireAgentAdmin(
  person: Person,
  project: string,
  act = 'define this agent',
  ...also: readonly Role[]
): void {
  const place = project === everyProject ? null : project;
  const admins: readonly Role[] = place === null ? ['administrator'] : ['administrator', 'project_admin'];
  requireRole(person, place, act, ...admins, ...also);
}

function isSeenBy(person: Person, project: string): boolean {
  const projects = projectsSeenBy(person);
  return project === everyProject || projects === null || projects.includes(project);
}

async function record(
  deps: AgentDeps,
  tx: Transaction,
  person: Person,
  agent: { id: string; project: string; version: number; definition: AgentDefinition },
): Promise<void> {
  const digest = digestOf(agent.definition);
  await tx.query(
    'INSERT INTO agent_versions (agent_id, version, definition, digest, changed_by) VALUES ($1, $2, $3, $4, $5)',
    [agent.id, agent.version, JSON.stringify(agent.definition), digest, person.subject],
  );
  const chain = agent.project === everyProject ? fleetChain : reviewChain(agent.project);
  await deps.audit.append(tx, chain, [
    {
      type: 'agent.changed',
      subject: person.subject,
      body: { agent: agent.id, project: agent.project, version: agent.version, definitionDigest: digest },
    },
  ]);
}

/** Agents that the person can see, by name. */
export async function listAgents(tx: Transaction, person: Person): Promise<AgentView[]> {
  const rows = await tx.query<AgentRow>(
    `${select} AND v.version = a.version
     WHERE a.project_id = '${everyProject}' OR $1::text[] IS NULL OR a.project_id = ANY($1) ORDER BY a.id LIMIT 1000`,
    [projectsSeenBy(person)],
  );
  return rows.map(toView);
}

/**
 * An agent, its newest version unless one is named.
 * @throws CodedError `agent_unknown`, `not_found` for a version that there is not
 */
export async function readAgent(
  tx: Transaction,
  person: Person,
  id: string,
  version: number | null,
): Promise<AgentView> {
  const [row] = await tx.query<AgentRow>(
    `${select} AND ($2::int IS NULL OR v.version = $2) WHERE a.id = $1 ORDER BY v.version DESC LIMIT 1`,
    [id, version],
  );
  if (row !== undefined && isSeenBy(person, row.project_id)) return toView(row);
  if (row === undefined && version !== null) {
    await projectOfSeenAgent(tx, person, id);
    throw new CodedError('not_found', `Agent "${id}" has no version ${version}.`, { agent: id, version });
  }
  throw unknownAgent(id, []);
}

/** Where an agent belongs. A stranger learns no more than that there is no such agent. @throws CodedError `agent_unknown` */
export async function projectOfSeenAgent(tx: Transaction, person: Person, id: string): Promise<string> {
  const [row] = await tx.query<{ project_id: string }>('SELECT project_id FROM agents WHERE id = $1', [id]);
  if (row !== undefined && isSeenBy(person, row.project_id)) return row.project_id;
  throw unknownAgent(id, []);
}

/** Who changed an agent when, the newest version first. @throws CodedError `agent_unknown` */
export async function listAgentVersions(
  tx: Transaction,
  person: Person,
  id: string,
): Promise<Omit<AgentView, 'definition'>[]> {
  const rows = await tx.query<AgentRow>(`${select} WHERE a.id = $1 ORDER BY v.version DESC LIMIT 500`, [id]);
  const [first] = rows;
  if (first === undefined || !isSeenBy(person, first.project_id)) throw unknownAgent(id, []);
  return rows.map((row) => {
    const { definition: _, ...version } = toView(row);
    return version;
  });
}

/** An agent as a session freezes it. */
export interface FrozenAgent {
  readonly id: string;
  readonly version: number;
  readonly definition: AgentDefinition;
}

/**
 * The agent that a new session of the project runs as.
 * @throws CodedError `agent_unknown`, listing those of the project
 */
export async function loadAgent(tx: Transaction, project: string, id: string): Promise<FrozenAgent> {
  const [row] = await tx.query<{ version: number; definition: unknown }>(
    `SELECT version, definition FROM agents WHERE id = $1 AND project_id IN ('${everyProject}', $2)`,
    [id, project],
  );
  const definition = row === undefined ? undefined : agentDefinitionSchema.parse(row.definition);
  if (row !== undefined && definition?.disabled === false) return { id, version: row.version, definition };
  const known = await tx.query<{ id: string }>(
    `SELECT id FROM agents WHERE project_id IN ('${everyProject}', $1) AND definition ->> 'disabled' <> 'true'
     ORDER BY id LIMIT 20`,
    [project],
  );
  throw unknownAgent(
    id,
    known.map((agent) => agent.id),
  );
}

function unknownAgent(id: string, known: readonly string[]): CodedError {
  const list = known.length === 0 ? 'GET /v1/agents lists them.' : `There are: ${known.join(', ')}.`;
  return new CodedError('agent_unknown', `There is no agent "${id}" here. ${list}`, { agent: id, known });
}
