import { surfaceRules } from '@lemniscate/shared/session/surface.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type {
  EventBatchAnswer,
  PositionedEvent,
  ServerEvent,
} from '@lemniscate/shared/protocol/session-event.ts';
import type { ServerCommand } from '@lemniscate/shared/protocol/session-order.ts';
import type { PauseReason } from '@lemniscate/shared/session/end.ts';
import { sessionPhases } from '@lemniscate/shared/session/state.ts';
import type { SessionPhase } from '@lemniscate/shared/session/state.ts';
import { closePause } from '../pausing/pause-spans.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventDraft, EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import type { Signals } from '../signals.ts';
import { egressEntries } from './egress-entries.ts';
import { lockLiveAttempt, readLiveAttempt } from './live-attempt.ts';
import type { AttemptClaim, LiveAttempt } from './live-attempt.ts';
import { readBatch } from './read-batch.ts';
import type { NumberedEvent } from './read-batch.ts';
import { isLargeOutput } from './segments.ts';
import type { Segments } from './segments.ts';
import { executionEntries, foldToolCalls, selectKnownCalls, writeToolCalls } from './tool-call-facts.ts';

export interface IngestDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly audit: AuditLog;
  readonly segments: Segments;
  readonly clock: Clock;
  readonly signals: Pick<Signals, 'send'>;
}

type RunningEvent = Extract<ServerEvent, { type: 'running' }>;

/**
 * Takes a batch of an attempt's journal into the record: positions, rows, what the facts change, and the number up to
 * which the journal may forget, in one transaction. What was acknowledged before is skipped.
 * @throws CodedError `attempt_stale`; `conflict` when the batch leaves a hole; `request_invalid`
 */
export async function ingestBatch(
  deps: IngestDeps,
  claim: AttemptClaim,
  body: unknown,
): Promise<EventBatchAnswer> {
  const batch = readBatch(body, deps.clock.now());
  const segmentKeys = await storeSegments(deps, claim, batch);
  const { answer, announced, runs } = await deps.database.transaction((tx) =>
    writeBatch(deps, tx, claim, batch, segmentKeys),
  );
  if (announced !== null) deps.events.announce(claim.sessionId, announced);
  if (runs) deps.signals.send('running', { serverId: claim.serverId, sessionId: claim.sessionId });
  return answer;
}

/** Large output is stored before the transaction, so that no row lock waits for the object store. */
async function storeSegments(
  deps: IngestDeps,
  claim: AttemptClaim,
  batch: readonly NumberedEvent[],
): Promise<ReadonlyMap<number, string>> {
  const keys = new Map<number, string>();
  const large = batch.filter(({ event }) => isLargeOutput(event));
  if (large.length === 0) return keys;
  const { project_id: project } = await readLiveAttempt(deps.database, claim);
  for (const { seq, event } of large) {
    const key = await deps.segments.store(project, event);
    if (key !== undefined) keys.set(seq, key);
  }
  return keys;
}

interface Written {
  readonly answer: EventBatchAnswer;
  /** Null: nothing new. Undefined: readers have to look themselves. */
  readonly announced: readonly PositionedEvent[] | undefined | null;
  /** The session began to run with this batch. */
  readonly runs: boolean;
}

async function writeBatch(
  deps: IngestDeps,
  tx: Transaction,
  claim: AttemptClaim,
  batch: readonly NumberedEvent[],
  segmentKeys: ReadonlyMap<number, string>,
): Promise<Written> {
  const reported = batch.map(({ event }) => event);
  const [attempt, known] = await Promise.all([
    lockLiveAttempt(tx, claim),
    selectKnownCalls(tx, claim, reported),
  ]);
  const fresh = freshEvents(claim, attempt, batch);
  const last = fresh.at(-1);
  if (last === undefined)
    return { answer: answerOf(claim, attempt, attempt.acknowledged_seq), announced: null, runs: false };

  const facts = foldToolCalls(
    known,
    fresh.map(({ event }) => event),
  );
  const running = attempt.state === 'starting' ? fresh.find(isRunning) : undefined;
  const entries: AuditDraft[] = [
    ...(running === undefined ? [] : [runningEntry(claim, running.event)]),
    ...executionEntries(claim, facts),
    ...compactionEntries(claim, attempt, fresh),
    ...egressEntries(
      claim,
      fresh.map(({ event }) => event),
    ),
  ];
  const [announced] = await Promise.all([
    appendWithState(deps, tx, attempt, fresh, segmentKeys, running),
    writeToolCalls(tx, claim, facts),
    countCompactions(tx, attempt, fresh),
    tx.query(
      `UPDATE attempts SET acknowledged_seq = $3, reported_usage = coalesce($4, reported_usage)
       WHERE session_id = $1 AND attempt = $2`,
      [claim.sessionId, claim.attempt, last.seq, reportedUsage(fresh)],
    ),
    entries.length === 0 ? undefined : deps.audit.append(tx, sessionChain(claim.sessionId), entries),
  ]);
  return { answer: answerOf(claim, attempt, last.seq), announced, runs: running !== undefined };
}

const compactions = (events: readonly NumberedEvent[]) =>
  events.flatMap(({ event }) => (event.type === 'compaction' ? [event] : []));

/** Where the surface has it so, each compaction uses up an action. */
async function countCompactions(
  tx: Transaction,
  { id, surface }: LiveAttempt,
  events: readonly NumberedEvent[],
): Promise<void> {
  const count = compactions(events).length;
  if (count === 0 || !surfaceRules[surface].compactionCostsAction) return;
  await tx.query('UPDATE sessions SET actions_used = actions_used + $2 WHERE id = $1', [id, count]);
}

function compactionEntries(
  claim: AttemptClaim,
  { surface }: LiveAttempt,
  events: readonly NumberedEvent[],
): AuditDraft[] {
  return compactions(events).map(({ turn, messages }) => ({
    type: 'context.compacted',
    subject: serviceUri('agent-server', claim.serverId),
    attempt: claim.attempt,
    server: claim.serverId,
    body: { turn, messages, costsAction: surfaceRules[surface].compactionCostsAction },
  }));
}

function freshEvents(
  claim: AttemptClaim,
  attempt: LiveAttempt,
  batch: readonly NumberedEvent[],
): NumberedEvent[] {
  const expected = attempt.acknowledged_seq + 1;
  const first = batch[0]?.seq ?? expected;
  if (first > expected)
    throw new CodedError(
      'conflict',
      `Session ${claim.sessionId} expects event ${expected} of attempt ${claim.attempt}, the batch begins with ${first}. Send from ${expected} on.`,
      { session: claim.sessionId, attempt: claim.attempt, expectedSeq: expected },
    );
  return batch.filter(({ seq }) => seq >= expected);
}

/** The program's last word on its tokens; it counts from the attempt's start. */
function reportedUsage(events: readonly NumberedEvent[]): string | null {
  const last = events.findLast(({ event }) => event.type === 'reported_usage')?.event;
  return last === undefined ? null : JSON.stringify(last);
}

function isRunning(numbered: NumberedEvent): numbered is NumberedEvent & { event: RunningEvent } {
  return numbered.event.type === 'running';
}

/**
 * Appends the events, and where the session begins to run also its change of state, right behind the report. All
 * statements are sent at once; the order in which they are sent is the order of the positions.
 */
async function appendWithState(
  deps: IngestDeps,
  tx: Transaction,
  attempt: LiveAttempt,
  fresh: readonly NumberedEvent[],
  segmentKeys: ReadonlyMap<number, string>,
  running: (NumberedEvent & { event: RunningEvent }) | undefined,
): Promise<readonly PositionedEvent[] | undefined> {
  const drafts = (numbered: readonly NumberedEvent[]): EventDraft[] =>
    numbered.map(({ seq, at, event }) => {
      const segmentKey = segmentKeys.get(seq);
      return segmentKey === undefined ? { at, event } : { at, event, segmentKey };
    });
  const append = (numbered: readonly NumberedEvent[]): Promise<readonly PositionedEvent[]> =>
    deps.events.appendDrafts(tx, attempt.id, attempt.attempt, drafts(numbered));

  const phase = lastPhase(running === undefined ? attempt.state : 'running', fresh);
  if (running === undefined) {
    const [appended] = await Promise.all([append(fresh), updatePhase(tx, attempt, phase)]);
    return appended;
  }
  await Promise.all([
    append(fresh.filter(({ seq }) => seq <= running.seq)),
    changeSessionState(deps.events, tx, attempt, {
      to: 'running',
      phase: phase ?? 'working',
      set: {
        driver: running.event.driver,
        timings_ms: JSON.stringify({ ...attempt.timings_ms, ...running.event.timingsMs }),
      },
      stamp: 'running_at',
    }),
    closePause(tx, attempt.id),
    append(fresh.filter(({ seq }) => seq > running.seq)),
  ]);
  return undefined;
}

/** The last phase of the batch that the state knows; one of another state is a late report. */
function lastPhase(state: LiveAttempt['state'], events: readonly NumberedEvent[]): SessionPhase | undefined {
  const known: readonly string[] = sessionPhases[state];
  const phases = events.flatMap(({ event }) => (event.type === 'phase' ? [event.phase] : []));
  return phases.findLast((phase) => known.includes(phase));
}

async function updatePhase(
  tx: Transaction,
  attempt: LiveAttempt,
  phase: SessionPhase | undefined,
): Promise<void> {
  if (phase === undefined || phase === attempt.phase) return;
  await tx.query('UPDATE sessions SET phase = $2, version = version + 1 WHERE id = $1', [attempt.id, phase]);
}

function runningEntry(claim: AttemptClaim, event: RunningEvent): AuditDraft {
  return {
    type: 'session.running',
    subject: serviceUri('agent-server', claim.serverId),
    attempt: claim.attempt,
    server: claim.serverId,
    body: { driver: event.driver, warm: event.warm },
  };
}

function answerOf(claim: AttemptClaim, attempt: LiveAttempt, acknowledgedSeq: number): EventBatchAnswer {
  return {
    acknowledgedSeq,
    commands: pendingCommands(claim, attempt.stop_reason),
    pause: cutsShort(attempt.pause_requested),
  };
}

/** A session that waits for somebody is told by its server's heartbeat, soon enough. */
function cutsShort(wish: PauseReason | null): boolean {
  return wish === 'by_person' || wish === 'drained';
}

/** What the server has to be told: a stop that is on record and that its session has not followed yet. */
function pendingCommands(claim: AttemptClaim, stopReason: string | null): ServerCommand[] {
  if (stopReason === null) return [];
  return [{ sessionId: claim.sessionId, attempt: claim.attempt, kind: 'stop', reason: stopReason }];
}
