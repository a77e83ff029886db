import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { RuntimeName, Surface } from '@lemniscate/shared/protocol/session-order.ts';
import type { PauseReason } from '@lemniscate/shared/session/end.ts';
import type { SessionPhase, SessionState } from '@lemniscate/shared/session/state.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AgentDefinition } from '@lemniscate/shared/api/agent.ts';
import type { FrozenSkill } from '../agents/skills.ts';
import type { MostRecent } from '../most-recent.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A session as its row has it, without the counters that only their own statements touch. */
export interface SessionRow extends Record<string, unknown> {
  readonly id: string;
  readonly version: number;
  readonly project_id: string;
  readonly state: SessionState;
  readonly phase: SessionPhase;
  readonly reason: string | null;
  readonly message: string | null;
  readonly attempt: number;
  readonly generation: number;
  readonly losses: number;
  readonly server_id: string | null;
  readonly pinned_server: string | null;
  readonly instruction: string;
  readonly repository: RepositorySource;
  readonly runtime: RuntimeName;
  readonly agent: string;
  readonly agent_version: number;
  readonly agent_definition: Partial<AgentDefinition>;
  readonly skills: readonly FrozenSkill[];
  readonly memory_version: number | null;
  readonly memory_writes: boolean;
  readonly model: string;
  readonly surface: Surface;
  readonly interactive: boolean;
  readonly follow_ups: boolean;
  readonly execution: string;
  readonly opened_by: string;
  readonly policy: Policy;
  readonly policy_digest: string;
  readonly stop_reason: string | null;
  /** Why it is to be paused as soon as it stands at a boundary. */
  readonly pause_requested: PauseReason | null;
  readonly pause_requested_by: string | null;
  /** The environment that it prepares. */
  readonly builds_environment: string | null;
  /** What its workspace has from its environment. */
  readonly installed: readonly string[] | null;
  readonly parent_id: string | null;
  /** Sessions above a sub-agent's, the one that a person opened first. */
  readonly ancestors: readonly string[];
  /** What it is about, where something of the workspace has started it. */
  readonly object_id: string | null;
  /** `traceparent` of the request that opened it. */
  readonly trace_context: string | null;
}

const columnsButPolicy = `id, version, project_id, state, phase, reason, message, attempt, generation, losses, server_id,
  pinned_server, instruction, repository, runtime, model, surface, interactive, follow_ups, execution, opened_by,
  policy_digest, stop_reason, pause_requested, pause_requested_by, parent_id, ancestors, agent, agent_version,
  agent_definition, skills, memory_version, memory_writes, object_id, trace_context,
  builds_environment, (SELECT e.installed FROM environments e WHERE e.id = sessions.environment) AS installed`;
const columns = `${columnsButPolicy}, policy`;

/**
 * Reads a session and locks its row until the transaction ends. Lock order everywhere: session row, then audit chain.
 * @throws CodedError `session_unknown`
 */
export async function lockSession(tx: Transaction, sessionId: string): Promise<SessionRow> {
  const [row] = await tx.query<SessionRow>(`SELECT ${columns} FROM sessions WHERE id = $1 FOR UPDATE`, [
    sessionId,
  ]);
  if (row === undefined) throw unknownSession(sessionId);
  return row;
}

/**
 * The same for several, in the order of their ids, so that two who lock several cannot wait for each other in a ring.
 * Those that do not exist are missing. A policy is most of a row: one that is known is neither read nor sent.
 * @param policies by digest, which is made of all that a policy says: what is kept under one cannot be out of date
 */
export async function lockSessions(
  tx: Transaction,
  sessionIds: readonly string[],
  policies: MostRecent<Policy>,
): Promise<SessionRow[]> {
  const rows = await tx.query<Pick<SessionRow, 'id' | 'policy_digest'> & Record<string, unknown>>(
    `SELECT ${columnsButPolicy} FROM sessions WHERE id = ANY ($1) ORDER BY id FOR UPDATE`,
    [sessionIds],
  );
  const read = await readPolicies(tx, rows, policies);
  return rows.map((row) => Object.assign(row, { policy: read(row.policy_digest) }) as SessionRow);
}

async function readPolicies(
  tx: Transaction,
  rows: readonly Pick<SessionRow, 'id' | 'policy_digest'>[],
  policies: MostRecent<Policy>,
): Promise<(digest: string) => Policy> {
  // Held here too: what is kept for all may go while more policies come.
  const found = new Map<string, Policy>();
  const missing = new Map<string, string>();
  for (const { id, policy_digest: digest } of rows) {
    const known = policies.get(digest);
    if (known === undefined) missing.set(digest, id);
    else found.set(digest, known);
  }
  if (missing.size > 0) {
    const read = await tx.query<{ policy_digest: string; policy: Policy }>(
      'SELECT policy_digest, policy FROM sessions WHERE id = ANY ($1)',
      [[...missing.values()]],
    );
    for (const { policy_digest: digest, policy } of read) {
      found.set(digest, policy);
      policies.keep(digest, policy);
    }
  }
  return (digest) => {
    const policy = found.get(digest);
    if (policy === undefined) throw new Error(`the policy ${digest} of a locked session is gone`);
    return policy;
  };
}

/** The error of a session that does not exist. */
export function unknownSession(sessionId: string): CodedError {
  return new CodedError('session_unknown', `There is no session ${sessionId}. GET /v1/sessions lists them.`, {
    session: sessionId,
  });
}
