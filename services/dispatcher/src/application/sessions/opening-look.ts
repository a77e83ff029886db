import { agentDefinitionSchema } from '@lemniscate/shared/api/agent.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { FrozenAgent } from '../agents/agents.ts';
import { inBatches } from '../in-batches.ts';
import type { Transaction } from '../ports/transaction.ts';
import { createMostRecent } from '../most-recent.ts';
import type { ProjectPolicy, ProjectTerms } from '../projects/project.ts';

/** What was asked under an idempotency key before. */
export interface Earlier {
  readonly requestHash: string;
  readonly sessionId: string;
}

/** What an opening has to know before it is made. */
export interface OpeningQuestion {
  readonly caller: string;
  /** Null: the caller sent no idempotency key. */
  readonly key: string | null;
  readonly project: string;
  readonly agent: string;
}

export interface OpeningAnswer {
  readonly earlier: Earlier | null;
  /** Null: there is no such project. */
  readonly terms: ProjectTerms | null;
  /** Null: no agent of this name can be had in the project. */
  readonly agent: FrozenAgent | null;
}

export type OpeningLook = (question: OpeningQuestion) => Promise<OpeningAnswer>;

/**
 * Looks at idempotency key, project and agent of all openings that ask in the same moment with one statement. It begins after
 * each of them has asked, so a new policy or a changed agent counts at once; a policy's text is read where its digest is new.
 */
export function createOpeningLook(database: Transaction): OpeningLook {
  const policies = createMostRecent<ProjectPolicy>(mostPolicies);
  return inBatches<OpeningQuestion, OpeningAnswer>({ most: 64, lanes: 2, patienceMs: 25 }, async (asked) => {
    const known = new Map(asked.map(({ project }) => [project, policies.get(project) ?? null]));
    const found = await look(database, asked, known);
    const terms = new Map(found.projects.map((row) => [row.id, termsOf(row, known.get(row.id) ?? null)]));
    for (const [project, { policy, digest }] of terms) policies.keep(project, { policy, digest });
    const agents = new Map(found.agents.map((row) => [agentKey(row.project, row.id), agentOf(row)]));
    return asked.map(({ project, agent }, index) => ({
      earlier: found.earlier[index] ?? null,
      terms: terms.get(project) ?? null,
      agent: agents.get(agentKey(project, agent)) ?? null,
    }));
  });
}

/** Policies of several kilobytes each that are kept at hand, of the projects that open sessions. */
const mostPolicies = 200;

const agentKey = (project: string, agent: string): string => JSON.stringify([project, agent]);

interface ProjectFound {
  readonly id: string;
  readonly digest: string;
  /** Null: its digest is the one that was named as known. */
  readonly policy: Policy | null;
  readonly pool: string;
  readonly architecture: string | null;
  readonly labels: readonly string[];
  readonly maxBacklog: number | null;
}

interface AgentFound {
  readonly project: string;
  readonly id: string;
  readonly version: number;
  readonly definition: unknown;
}

interface Found extends Record<string, unknown> {
  /** One for each question, in order. */
  readonly earlier: readonly (Earlier | null)[];
  readonly projects: readonly ProjectFound[];
  readonly agents: readonly AgentFound[];
}

// Lists as JSON and a look by key for each: such a plan costs the same whatever the lists hold, so it is kept. With arrays
// each look was planned anew.
const statement = `
SELECT
  (SELECT json_agg((SELECT json_build_object('requestHash', request_hash, 'sessionId', session_id)
     FROM idempotency_keys WHERE caller = asked ->> 0 AND key = asked ->> 1))
   FROM json_array_elements($1::json) AS asked) AS earlier,
  (SELECT coalesce(json_agg(found.project), '[]') FROM json_array_elements($2::json) AS asked CROSS JOIN LATERAL (
     SELECT json_build_object('id', id, 'digest', policy_digest,
       'policy', CASE WHEN policy_digest IS DISTINCT FROM asked ->> 1 THEN policy END,
       'pool', pool, 'architecture', architecture, 'labels', labels, 'maxBacklog', max_backlog) AS project
     FROM projects WHERE id = asked ->> 0 OFFSET 0) found) AS projects,
  (SELECT coalesce(json_agg(found.agent), '[]') FROM json_array_elements($3::json) AS asked CROSS JOIN LATERAL (
     SELECT json_build_object('project', asked ->> 1, 'id', id, 'version', version, 'definition', definition) AS agent
     FROM agents WHERE id = asked ->> 0 AND project_id IN ('${everyProject}', asked ->> 1) OFFSET 0) found) AS agents`;

async function look(
  database: Transaction,
  asked: readonly OpeningQuestion[],
  known: ReadonlyMap<string, ProjectPolicy | null>,
): Promise<Found> {
  const agents = [...new Map(asked.map((one) => [agentKey(one.project, one.agent), one])).values()];
  const [found] = await database.query<Found>(statement, [
    JSON.stringify(asked.map(({ caller, key }) => [caller, key])),
    JSON.stringify([...known].map(([project, policy]) => [project, policy?.digest ?? null])),
    JSON.stringify(agents.map(({ agent, project }) => [agent, project])),
  ]);
  if (found === undefined) throw new Error('a look without tables has one row');
  return found;
}

function termsOf(row: ProjectFound, known: ProjectPolicy | null): ProjectTerms {
  const { digest, pool, architecture, labels, maxBacklog } = row;
  const policy = row.policy ?? known?.policy;
  if (policy === undefined) throw new Error(`the policy ${digest} was neither known nor sent`);
  return { policy, digest, queue: { pool, architecture, labels, maxBacklog } };
}

function agentOf({ id, version, definition }: AgentFound): FrozenAgent | null {
  const parsed = agentDefinitionSchema.parse(definition);
  return parsed.disabled ? null : { id, version, definition: parsed };
}
