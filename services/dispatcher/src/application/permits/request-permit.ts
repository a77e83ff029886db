import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { judgeProposal } from '@lemniscate/shared/permit/judge-proposal.ts';
import type { FinalAnswer, Judgement, KnownApproval } from '@lemniscate/shared/permit/judge-proposal.ts';
import { mayHaveActedOutside } from '@lemniscate/shared/permit/unknown-outcome.ts';
import { permitAnswerSchema } from '@lemniscate/shared/protocol/permit.ts';
import { grantPattern } from '@lemniscate/shared/policy/grant-pattern.ts';
import { requiredPeople } from '@lemniscate/shared/policy/four-eyes.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { isRemoteToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { ToolCallState } from '@lemniscate/shared/tool-call/state.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { mustWaitForChild } from '@lemniscate/shared/budget/held-by-children.ts';
import { adoptApproval } from '../approvals/adopt-approval.ts';
import { withdrawLeftBehind } from '../approvals/withdraw-approvals.ts';
import { askForExtension } from '../budgets/ask-extension.ts';
import { findWaitingExtension } from '../budgets/extension-row.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import { decideDelegation } from '../delegation/decide-delegation.ts';
import { readHeldByChildren } from '../delegation/held-budget.ts';
import type { HeldBudget } from '../delegation/held-budget.ts';
import { showAbove } from '../delegation/show-above.ts';
import type { AskedBelow } from '../delegation/show-above.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { harmlessText } from '../events/harmless.ts';
import { lockLiveAttempt } from '../events/live-attempt.ts';
import { readSpent } from '../gateway/usage-totals.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { LiveEvents, LiveSignal } from '../ports/live-events.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import type { RemoteCalls } from '../remote-tools/remote-calls.ts';
import {
  faultOfRemoteCall,
  isRemoteCallOpen,
  isRemoteQuestion,
  openRemoteCall,
  remoteQuestion,
  repeatRemoteCall,
} from '../remote-tools/remote-step.ts';
import { lateAfter } from './judgement-time.ts';
import { readProposal } from './read-proposal.ts';
import type { Proposal } from './read-proposal.ts';
import { recordAnswer, recordQuestion, recordRepeatedQuestion } from './record-permit.ts';
import type { PermitContext, RecordDeps } from './record-permit.ts';
import { carryOutObjectTool, isObjectTool } from '../objects/object-tools.ts';

export interface PermitDeps extends RecordDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly live: LiveEvents;
  readonly newId: NewId;
  readonly clock: Clock;
  /** Time that the processor has spent on this thread. */
  readonly processorMs: () => number;
  readonly signals: Signals;
  /** Who carries calls of remote tools out; absent where no agent has any. */
  readonly remoteCalls?: RemoteCalls;
}

/** A decision made in another dispatcher is seen at the latest after this, whatever happens to signals. */
const recheckMs = 1_000;

/**
 * Answers a proposal. One transaction checks attempt, stop, budgets, policy and approval and writes proposal and
 * decision; a repeat gets the stored answer. Where a person has to be asked, the answer is held up to `waitMs`.
 * @param gone aborts when the caller has hung up
 * @throws CodedError `attempt_stale`, `request_invalid`, `digest_mismatch`, `conflict` (other arguments, same call)
 */
export async function requestPermit(
  deps: PermitDeps,
  claim: AttemptClaim,
  body: unknown,
  gone: AbortSignal,
): Promise<PermitAnswer> {
  const proposal = readProposal(body);
  const news = createNews();
  // Listens before it asks: a decision between question and wait would be missed.
  const stopListening = deps.live.subscribe(claim.sessionId, news.hear);
  try {
    const deadline = deps.clock.monotonicMs() + proposal.waitMs;
    let answer = await askOnce(deps, claim, proposal);
    while (answer.verdict === 'waiting' && !gone.aborted) {
      const left = deadline - deps.clock.monotonicMs();
      if (left <= 0) break;
      void deps.remoteCalls?.running(claim, proposal.callId)?.then(news.wake);
      await news.wait(Math.min(left, recheckMs), gone);
      if (await isWaiting(deps.database, claim, answer.approvalId)) continue;
      answer = await askOnce(deps, claim, proposal);
    }
    return answer;
  } finally {
    stopListening();
  }
}

async function askOnce(deps: PermitDeps, claim: AttemptClaim, proposal: Proposal): Promise<PermitAnswer> {
  const { answer, asked, tellAbove, opened, wished, calls } = await deps.database.transaction(async (tx) => {
    const decided = await decide(deps, tx, claim, proposal);
    const withdrawn = await withdrawLeftBehind(deps, tx, claim, proposal);
    return withdrawn ? { ...decided, asked: true } : decided;
  });
  if (asked) {
    deps.events.announce(claim.sessionId);
    deps.signals.send('approvals', undefined);
  }
  if (calls === true) {
    const { callId, tool, arguments: args, argumentsDigest } = proposal;
    deps.remoteCalls?.begin({ claim, callId, tool, arguments: args, argumentsDigest });
  }
  if (wished === true) deps.signals.send('wishes', undefined);
  if (tellAbove !== undefined) await showAbove(deps, tellAbove);
  if (opened !== undefined) {
    deps.signals.send('outbox', null);
    for (const id of [opened, claim.sessionId]) deps.events.announce(id);
  }
  return answer;
}

interface Decided {
  readonly answer: PermitAnswer;
  /** Somebody is asked something, or no longer is. */
  readonly asked: boolean;
  /** A sub-agent asks: the session that its person looks at, and what they are to see there. */
  readonly tellAbove?: AskedBelow;
  /** The sub-agent's session that this call has opened. */
  readonly opened?: string;
  /** The call may have asked for another agent's session. */
  readonly wished?: boolean;
  /** The call is permitted, and carried out now by whoever has decided it. */
  readonly calls?: boolean;
}

interface KnownCall extends Record<string, unknown> {
  readonly answer: unknown;
  readonly state: ToolCallState | null;
  readonly arguments_digest: string | null;
  readonly approval: KnownApproval | null;
  /** The approval that somebody gave to all calls of this pattern in the session. */
  readonly granted: KnownApproval | null;
  /** The same call was permitted to an earlier attempt that was lost before it told how it ended. */
  readonly lost_before: boolean;
  /** Sub-agents of it work, or have ended and count for nobody yet. */
  readonly delegated: boolean;
}

async function decide(
  deps: PermitDeps,
  tx: Transaction,
  claim: AttemptClaim,
  proposal: Proposal,
): Promise<Decided> {
  const pattern = harmlessText(grantPattern(proposal));
  const [locked, [known], waited, spent] = await Promise.all([
    lockLiveAttempt(tx, claim),
    // Sent with the lock and run after it, so it sees what whoever held the lock has written. A question of an earlier
    // attempt that was withdrawn is no answer to a call that this one asks for the first time.
    tx.query<KnownCall>(
      `SELECT c.answer, c.state, c.arguments_digest, to_jsonb(p) AS approval, to_jsonb(g) AS granted,
         EXISTS (SELECT 1 FROM tool_calls u WHERE u.session_id = s.id AND u.attempt < $2 AND u.abandoned_at IS NOT NULL
           AND u.tool = $5 AND u.arguments_digest = $4) AS lost_before,
         EXISTS (SELECT 1 FROM sessions w WHERE w.parent_id = s.id AND w.reported_at IS NULL) AS delegated
       FROM sessions s
       LEFT JOIN tool_calls c ON c.session_id = s.id AND c.attempt = $2 AND c.call_id = $3
       LEFT JOIN LATERAL (
         SELECT id, state, decided_by, subject, message FROM approvals
         WHERE session_id = s.id AND call_id = $3 AND arguments_digest = $4 AND policy_digest = s.policy_digest
           AND (state <> 'withdrawn' OR c.call_id IS NOT NULL)
         ORDER BY created_at DESC LIMIT 1
       ) p ON true
       LEFT JOIN LATERAL (
         SELECT approval_id AS id, 'approved' AS state, 'human' AS decided_by, subject, null AS message
         FROM session_grants
         WHERE session_id = s.id AND tool = $5 AND md5(pattern) = md5($6) AND pattern = $6
           AND policy_digest = s.policy_digest
       ) g ON true
       WHERE s.id = $1`,
      [claim.sessionId, claim.attempt, proposal.callId, proposal.argumentsDigest, proposal.tool, pattern],
    ),
    readWaitedMs(tx, claim.sessionId),
    readSpent(tx, claim.sessionId),
  ]);
  const outcomeUnknown =
    known?.lost_before === true && (isRemoteToolName(proposal.tool) || mayHaveActedOutside(locked));
  const found = { ...locked, waited_ms: waited, spent, outcome_unknown: outcomeUnknown };
  const proposedBefore = known?.arguments_digest ?? null;
  if (proposedBefore !== null && proposedBefore !== proposal.argumentsDigest)
    throw new CodedError(
      'conflict',
      `Call ${proposal.callId} of session ${claim.sessionId} was proposed with other arguments before. A changed call needs an id of its own.`,
      { session: claim.sessionId, call: proposal.callId },
    );
  const isRemote = isRemoteToolName(proposal.tool);
  if (known?.answer != null) {
    const answer = permitAnswerSchema.parse(known.answer);
    if (answer.verdict === 'go') refuseUsed(claim, proposal, known.state);
    if (!isRemote || answer.verdict !== 'go' || answer.result !== undefined) return { answer, asked: false };
    return { answer: await repeatRemoteCall(tx, claim, proposal.callId, answer), asked: false };
  }

  const isNew = proposedBefore === null;
  const mayAdopt = isNew && known?.approval == null && claim.attempt > 1 && !outcomeUnknown;
  const adopted = mayAdopt ? await adoptApproval(deps, tx, claim, proposal) : null;
  // What somebody decided about this very call comes before what they said about its like.
  const approval = known?.approval ?? adopted ?? (outcomeUnknown ? null : (known?.granted ?? null));
  const held = known?.delegated === true ? await readHeldByChildren(tx, claim.sessionId) : nothingHeld;
  const session = { ...found, ...held.used };
  const judgement = judgeProposal(session, proposal, approval, isNew, lateAfter(deps.processorMs));
  if (isNew && held.childId !== null && mayRun(judgement))
    if (mustWaitForChild(session.policy.budgets, session, held, proposal.tool)) return waitFor(held.childId);
  const context: PermitContext = { claim, session, proposal, isNew, evaluation: judgement.evaluation };
  const fault = isRemote && mayRun(judgement) ? await faultOfRemoteCall(tx, session, proposal) : null;
  if (fault !== null) {
    const answer = misfit(fault);
    await recordAnswer(deps, tx, context, answer, null);
    return { answer, asked: false };
  }
  if (judgement.kind === 'answer') {
    const { answer } = judgement;
    if (answer.verdict === 'go' && isRemote) {
      await Promise.all([
        recordAnswer(deps, tx, context, answer, approval),
        openRemoteCall(tx, claim, proposal.callId),
      ]);
      return {
        answer: { verdict: 'waiting', approvalId: remoteQuestion(proposal.callId) },
        asked: false,
        calls: true,
      };
    }
    if (answer.verdict === 'go' && isObjectTool(proposal.tool)) {
      const told = { ...answer, result: await carryOutObjectTool(deps, tx, session, proposal) };
      await recordAnswer(deps, tx, context, told, approval);
      return { answer: told, asked: false, wished: true };
    }
    if (answer.verdict !== 'go' || proposal.tool !== 'delegate') {
      await recordAnswer(deps, tx, context, answer, approval);
      return { answer, asked: false };
    }
    // this call is an action too; a repeat has used it already
    const counted = { ...session, actions_used: session.actions_used + (isNew ? 1 : 0) };
    const step = await decideDelegation(deps, tx, claim, counted, proposal, held);
    if (step.kind === 'behind') return waitFor(step.childId);
    if (step.kind === 'waiting') {
      if (isNew) await recordRepeatedQuestion(deps, tx, context);
      const waiting = { verdict: 'waiting', approvalId: childQuestion(step.childId) } as const;
      return { answer: waiting, asked: false, ...(step.opened ? { opened: step.childId } : {}) };
    }
    const reported = { ...answer, result: step.report };
    await recordAnswer(deps, tx, context, reported, approval);
    return { answer: reported, asked: false };
  }
  if (judgement.kind === 'extend') {
    const asked = await askForExtension(deps, tx, session, judgement.exhausted);
    return { answer: { verdict: 'waiting', approvalId: extensionQuestion }, asked };
  }
  if (approval !== null) {
    if (isNew) await recordRepeatedQuestion(deps, tx, context);
    return { answer: { verdict: 'waiting', approvalId: approval.id }, asked: adopted !== null };
  }
  const approvalId = deps.newId('approval');
  const asked = await recordQuestion(deps, tx, context, approvalId, requiredPeople(session.policy, proposal));
  const [root] = session.ancestors;
  return {
    answer: { verdict: 'waiting', approvalId },
    asked: true,
    ...(root === undefined ? {} : { tellAbove: { root, sessionId: session.id, asked } }),
  };
}

/** A permit is for one execution: a repeat gets the same answer until the call has begun, and none afterwards. */
function refuseUsed(claim: AttemptClaim, { callId }: Proposal, state: ToolCallState | null): void {
  if (state === 'generating' || state === 'generated') return;
  throw new CodedError(
    'conflict',
    `The permit of call ${callId} of session ${claim.sessionId} has been used: the call is ${state}. What is to run again is a call of its own.`,
    { session: claim.sessionId, call: callId, state },
  );
}

/** Nothing of the call is on record yet: it is judged when the sub-agent has ended. */
function waitFor(childId: string): Decided {
  return { answer: { verdict: 'waiting', approvalId: childQuestion(childId) }, asked: false };
}

/** A call that is refused already needs no look at its arguments. */
function mayRun(judgement: Judgement): boolean {
  return judgement.kind === 'ask' || (judgement.kind === 'answer' && judgement.answer.verdict === 'go');
}

function misfit(message: string): FinalAnswer {
  return {
    verdict: 'forbidden',
    decidedBy: 'automation',
    state: 'errored',
    message,
    reasons: ['the call does not fit what was approved'],
  };
}

const nothingHeld: HeldBudget = { childId: null, actions: 0, commands: 0 };

/** Stands where an approval's id would, while a call waits for the session's budget to be extended. */
const extensionQuestion = 'extension';
/** The same while it waits for its sub-agent. */
const childQuestion = (childId: string): string => `${childPrefix}${childId}`;
const childPrefix = 'child:';

async function isWaiting(database: Transaction, claim: AttemptClaim, approvalId: string): Promise<boolean> {
  if (approvalId === extensionQuestion)
    return (await findWaitingExtension(database, claim.sessionId)) !== null;
  if (isRemoteQuestion(approvalId)) return isRemoteCallOpen(database, claim, approvalId);
  if (approvalId.startsWith(childPrefix)) {
    const [child] = await database.query<{ state: SessionState }>(
      'SELECT state FROM sessions WHERE id = $1',
      [approvalId.slice(childPrefix.length)],
    );
    // a parent that is told to stop must hear of it
    return (
      child !== undefined && !sessionHasEnded(child.state) && !(await isStopped(database, claim.sessionId))
    );
  }
  const [row] = await database.query<{ state: string }>('SELECT state FROM approvals WHERE id = $1', [
    approvalId,
  ]);
  return row?.state === 'waiting';
}

async function isStopped(database: Transaction, sessionId: string): Promise<boolean> {
  const [row] = await database.query<{ stop_reason: string | null }>(
    'SELECT stop_reason FROM sessions WHERE id = $1',
    [sessionId],
  );
  return row === undefined || row.stop_reason !== null;
}

const decisions: readonly string[] = ['approval', 'extension'];

/** Remembers between two waits that something was heard that may concern an approval. */
function createNews(): {
  hear(signal: LiveSignal): void;
  /** Ends the wait, or the next one. */
  wake(): void;
  wait(ms: number, gone: AbortSignal): Promise<void>;
} {
  let heard = false;
  let wake: (() => void) | undefined;
  return {
    hear: ({ events }) => {
      // Output of other calls is no news here; a signal without events may be anything.
      if (events !== undefined && !events.some(({ event }) => decisions.includes(event.type))) return;
      heard = true;
      wake?.();
    },
    wake: () => {
      heard = true;
      wake?.();
    },
    wait: async (ms, gone) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      const abort = (): void => resolve();
      gone.addEventListener('abort', abort);
      wake = resolve;
      if (heard || gone.aborted) resolve();
      await promise;
      heard = false;
      wake = undefined;
      clearTimeout(timer);
      gone.removeEventListener('abort', abort);
    },
  };
}
