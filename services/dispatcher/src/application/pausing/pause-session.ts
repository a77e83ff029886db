import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { pausableRuntimes } from '@lemniscate/shared/protocol/session-order.ts';
import { lastCheckpoint } from '../checkpoints/checkpoint-row.ts';
import type { Person } from '../identity.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database } from '../ports/transaction.ts';
import { lockOpen } from '../messages/lock-open.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import { putAway } from './put-away.ts';
import type { PutAwayDeps } from './put-away.ts';
import { queueResumed } from './queue-resumed.ts';
import { findWait } from './waits.ts';

export interface PauseSessionDeps extends PutAwayDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  readonly servers: AgentServers;
}

/**
 * Pauses a session at a person's wish. One that works is told to, stops its commands and is put away within seconds;
 * one that waits for a slot or for a person is put away at once. Repeating it changes nothing.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`, `conflict` for a runtime that cannot be stored
 */
export async function pauseSession(deps: PauseSessionDeps, person: Person, sessionId: string): Promise<void> {
  const told = await deps.database.transaction(async (tx) => {
    const session = await lockOpen(tx, person, sessionId, 'pause');
    if (session.state === 'paused') {
      // The answer that it waits for no longer lets it go on by itself.
      await tx.query(`UPDATE sessions SET reason = 'by_person', version = version + 1 WHERE id = $1`, [
        sessionId,
      ]);
      return null;
    }
    if (session.state === 'pending') {
      await tx.query('DELETE FROM outbox WHERE session_id = $1', [sessionId]);
      const checkpoint = await lastCheckpoint(tx, sessionId);
      await putAway(deps, tx, session, {
        reason: 'by_person',
        subject: person.subject,
        checkpoint: checkpoint?.number ?? null,
      });
      return null;
    }
    if (!pausableRuntimes.includes(session.runtime))
      throw new CodedError(
        'conflict',
        `Session ${sessionId} runs under ${session.runtime}, which cannot be stored in the middle of its work. Only ${pausableRuntimes.join(', ')} can.`,
        { session: sessionId, runtime: session.runtime },
      );
    await tx.query(
      `UPDATE sessions SET pause_requested = 'by_person', pause_requested_by = $2, version = version + 1 WHERE id = $1`,
      [sessionId, person.subject],
    );
    return session;
  });
  deps.events.announce(sessionId);
  if (told?.server_id != null)
    deps.servers.pause(told.server_id, { sessionId, attempt: told.attempt }, 'by_person');
}

/**
 * Lets a session go on that a person has paused. One that has not stopped yet goes on where it is.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`, `conflict` where there is nothing to resume
 */
export async function resumeSession(
  deps: PauseSessionDeps,
  person: Person,
  sessionId: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const session = await lockOpen(tx, person, sessionId, 'pause');
    const wait = await findWait(tx, sessionId);
    if (session.state === 'paused' && session.reason === 'by_person' && wait === null)
      return queueResumed(deps, tx, session, person.subject);
    if (session.state === 'paused' && session.reason === 'by_person' && wait !== null) {
      // It goes on by itself when its answer comes, as before it was paused.
      await tx.query('UPDATE sessions SET reason = $2, version = version + 1 WHERE id = $1', [
        sessionId,
        wait.reason,
      ]);
      return undefined;
    }
    if (session.pause_requested === 'by_person') {
      await tx.query(
        `UPDATE sessions SET pause_requested = NULL, pause_requested_by = NULL, version = version + 1 WHERE id = $1`,
        [sessionId],
      );
      return undefined;
    }
    throw new CodedError('conflict', nothingToResume(session, wait?.reason ?? null), {
      session: sessionId,
      state: session.state,
    });
  });
  deps.events.announce(sessionId);
  deps.signals.send('outbox', null);
}

const answers: Readonly<Record<string, string>> = {
  awaiting_approval: 'a decision on its approval: lemniscate approvals',
  awaiting_extension: `an extension of its budget: lemniscate extend`,
  awaiting_message: `your next message: lemniscate message`,
};

function nothingToResume(session: SessionRow, wait: string | null): string {
  if (session.state !== 'paused') return `Session ${session.id} is ${session.state} and not paused.`;
  if (wait === null) return `Session ${session.id} goes on by itself in a moment.`;
  return `Session ${session.id} waits for ${answers[wait] ?? wait}. It goes on by itself when that has come.`;
}
