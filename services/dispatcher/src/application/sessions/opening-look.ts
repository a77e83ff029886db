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
  return inBatches<OpeningQuestion, OpeningAnswer>({ most: 64, lanes: 2 }, async (asked) => {
    const known = new Map(asked.map(({ project }) => [project, policies.get(project) ?? null]));
    const found = await look(database, asked, known);
    const terms = new Map(found.projects.map((row) => [row.id, termsOf(row, known.get(row.id) ?? null)]));
    for (const [project, { policy, digest }] of terms) policies.keep(project, { policy, digest });
    const earlier = new Map(found.earlier.map(({ place, ...first }) => [place, first]));
    const agents = new Map(found.agents.map((row) => [agentKey(row.project, row.id), agentOf(row)]));
    return asked.map(({ project, agent }, index) => ({
      earlier: earlier.get(index + 1) ?? null,
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
  readonly earlier: readonly (Earlier & { readonly place: number })[];
  readonly projects: readonly ProjectFound[];
  readonly agents: readonly AgentFound[];
}

const statement = `
SELECT
  (SELECT coalesce(json_agg(json_build_object('place', place, 'requestHash', request_hash, 'sessionId', session_id)), '[]')
   FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (caller, key, place)
   JOIN idempotency_keys USING (caller, key)) AS earlier,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'digest', policy_digest,
     'policy', CASE WHEN policy_digest IS DISTINCT FROM known THEN policy END,
     'pool', pool, 'architecture', architecture, 'labels', labels, 'maxBacklog', max_backlog)), '[]')
   FROM unnest($3::text[], $4::text[]) AS asked (id, known) JOIN projects USING (id)) AS projects,
  (SELECT coalesce(json_agg(json_build_object('project', asked.project, 'id', id, 'version', version,
     'definition', definition)), '[]')
   FROM unnest($5::text[], $6::text[]) AS asked (id, project) JOIN agents USING (id)
   WHERE project_id IN ('${everyProject}', asked.project)) AS agents`;

async function look(
  database: Transaction,
  asked: readonly OpeningQuestion[],
  known: ReadonlyMap<string, ProjectPolicy | null>,
): Promise<Found> {
  const agents = [...new Map(asked.map((one) => [agentKey(one.project, one.agent), one])).values()];
  const [found] = await database.query<Found>(statement, [
    asked.map(({ caller }) => caller),
    asked.map(({ key }) => key),
    [...known.keys()],
    [...known.values()].map((policy) => policy?.digest ?? null),
    agents.map(({ agent }) => agent),
    agents.map(({ project }) => project),
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
