import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { LiveAttempt } from '../events/live-attempt.ts';
import type { Proposal } from '../permits/read-proposal.ts';
import type { Transaction } from '../ports/transaction.ts';
import { faultOfArguments } from './check-arguments.ts';
import { remoteCallMs } from './remote-calls.ts';
import { fleetNow } from '../recovery/fleet-clock.ts';
import { findApprovedTool } from './remote-tool-rows.ts';

type Go = Extract<PermitAnswer, { verdict: 'go' }>;

/** Beyond a call's own deadline, for what its dispatcher still has to write. Milliseconds. */
const graceMs = 30_000;

const prefix = 'remote:';
/** Stands where an approval's id would, while a call is carried out. */
export const remoteQuestion = (callId: string): string => `${prefix}${callId}`;
export const isRemoteQuestion = (id: string): boolean => id.startsWith(prefix);

/**
 * Whether a proposed call of a remote tool can be made at all.
 * @returns a sentence for the model; null: it can
 */
export async function faultOfRemoteCall(
  tx: Transaction,
  session: LiveAttempt,
  proposal: Proposal,
): Promise<string | null> {
  const tool = await findApprovedTool(tx, session.agent, session.agent_definition, proposal.tool);
  if (tool === null) return `There is no approved tool ${proposal.tool} for this agent. Go on without it.`;
  const fault = faultOfArguments(tool.input_schema, proposal.arguments);
  return fault === null
    ? null
    : `The arguments of ${proposal.tool} do not fit its schema and nothing was called: ${fault}.`;
}

/** Notes that a permitted call is about to be carried out. */
export async function openRemoteCall(tx: Transaction, claim: AttemptClaim, callId: string): Promise<void> {
  await tx.query(
    `INSERT INTO remote_calls (session_id, attempt, call_id, state, deadline)
     VALUES ($1, $2, $3, 'calling', now() + make_interval(secs => $4))`,
    [claim.sessionId, claim.attempt, callId, (remoteCallMs + graceMs) / 1_000],
  );
}

const unknownOutcome = {
  isError: true,
  text: 'Nobody knows whether this call was carried out: whoever made it has not come back. Look before you call again.',
} as const;

/**
 * The answer to a repeat of a permitted call whose result is not on record yet: it is under way, or its dispatcher has
 * been away for longer than any call takes.
 */
export async function repeatRemoteCall(
  tx: Transaction,
  claim: AttemptClaim,
  callId: string,
  answer: Go,
): Promise<PermitAnswer> {
  const [late] = await tx.query(
    `UPDATE remote_calls SET state = 'unknown' WHERE session_id = $1 AND attempt = $2 AND call_id = $3
       AND state = 'calling' AND deadline < ${fleetNow} RETURNING 1`,
    [claim.sessionId, claim.attempt, callId],
  );
  if (late === undefined) return { verdict: 'waiting', approvalId: remoteQuestion(callId) };
  await tx.query(
    `UPDATE tool_calls SET answer = jsonb_set(answer, '{result}', $4)
     WHERE session_id = $1 AND attempt = $2 AND call_id = $3 AND answer IS NOT NULL`,
    [claim.sessionId, claim.attempt, callId, JSON.stringify(unknownOutcome)],
  );
  return { ...answer, result: unknownOutcome };
}

/** Whether a call is still under way. */
export async function isRemoteCallOpen(
  tx: Transaction,
  claim: AttemptClaim,
  question: string,
): Promise<boolean> {
  const [row] = await tx.query(
    `SELECT 1 FROM remote_calls WHERE session_id = $1 AND attempt = $2 AND call_id = $3 AND state = 'calling'
       AND deadline >= ${fleetNow}`,
    [claim.sessionId, claim.attempt, question.slice(prefix.length)],
  );
  return row !== undefined;
}
