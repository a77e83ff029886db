import type { SessionBounds } from '@lemniscate/shared/session/allowance.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { SessionRow } from '../sessions/session-row.ts';

/** Who says that an attempt is theirs: the server is the certificate's, never the body's. */
export interface AttemptClaim {
  readonly sessionId: string;
  readonly attempt: number;
  readonly serverId: string;
}

/** The session and the attempt that is its present one, both locked. */
export interface LiveAttempt extends SessionRow {
  readonly timings_ms: Readonly<Record<string, number>>;
  readonly event_position: number;
  readonly actions_used: number;
  readonly commands_used: number;
  readonly waited_ms: number;
  readonly running_at: string | null;
  readonly extensions_used: number;
  readonly bounds: SessionBounds | null;
  readonly budget_from: string | null;
  readonly summary_at: string | null;
  readonly acknowledged_seq: number;
  readonly now: string;
}

/** The columns of a live attempt, for statements that lock or find one by other means. */
export const liveAttemptColumns = `s.id, s.version, s.project_id, s.state, s.phase, s.reason, s.message, s.attempt,
  s.generation, s.losses, s.server_id, s.pinned_server, s.instruction, s.repository, s.runtime, s.model, s.surface,
  s.interactive, s.follow_ups, s.execution, s.opened_by, s.policy, s.policy_digest, s.stop_reason, s.pause_requested,
  s.pause_requested_by, s.parent_id, s.ancestors, s.event_position,
  s.agent, s.agent_version, s.agent_definition, s.skills, s.memory_version, s.memory_writes, s.object_id,
  s.builds_environment, NULL::jsonb AS installed, s.timings_ms, s.actions_used, s.commands_used, s.waited_ms, s.running_at, s.extensions_used,
  s.bounds, s.budget_from, s.summary_at, a.acknowledged_seq, clock_timestamp() AS now`;

/**
 * Locks session and attempt, in this order, and checks that the attempt is the session's present one and the caller's.
 * The statement is sent before the first await, so that what follows it can share its round trip.
 * @throws CodedError `attempt_stale`, the same for a foreign, a past and an invented attempt
 */
export async function lockLiveAttempt(tx: Transaction, claim: AttemptClaim): Promise<LiveAttempt> {
  const [row] = await tx.query<LiveAttempt>(
    `SELECT ${liveAttemptColumns} FROM sessions s JOIN attempts a ON a.session_id = s.id AND a.attempt = s.attempt
     WHERE s.id = $1 AND a.attempt = $2 AND a.server_id = $3 AND a.state = 'live' AND s.state IN ('starting', 'running')
     FOR UPDATE OF s, a`,
    [claim.sessionId, claim.attempt, claim.serverId],
  );
  if (row === undefined) throw staleAttempt(claim);
  return row;
}

/**
 * The same check without a lock, for what is harmless when the attempt ends a moment later.
 * @throws CodedError `attempt_stale`
 */
export async function readLiveAttempt(
  database: Transaction,
  claim: AttemptClaim,
): Promise<{ readonly project_id: string }> {
  const [row] = await database.query<{ project_id: string }>(
    `SELECT s.project_id FROM sessions s JOIN attempts a ON a.session_id = s.id AND a.attempt = s.attempt
     WHERE s.id = $1 AND a.attempt = $2 AND a.server_id = $3 AND a.state = 'live' AND s.state IN ('starting', 'running')`,
    [claim.sessionId, claim.attempt, claim.serverId],
  );
  if (row === undefined) throw staleAttempt(claim);
  return row;
}

/** The error of an attempt that is not the session's live one under this server. */
export function staleAttempt(claim: AttemptClaim): CodedError {
  return new CodedError(
    'attempt_stale',
    `Attempt ${claim.attempt} of session ${claim.sessionId} is not a live one of server ${claim.serverId}. Destroy its sandbox.`,
    { session: claim.sessionId, attempt: claim.attempt },
  );
}
