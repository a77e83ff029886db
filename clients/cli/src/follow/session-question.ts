import { ask } from '@lemniscate/api/client.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { ApiClient } from '../api-client.ts';
import { askApproval, decideApproval, waitingApprovals } from './approvals.ts';
import { answerExtension, askExtension, waitingExtension } from './extensions.ts';
import { askNextMessage, sendNext } from './messages.ts';
import type { Outcome, Person } from './person.ts';

/** Sends an answer. @returns `too_late` when it did not count any more */
type Deliver = () => Promise<'taken' | 'too_late'>;

/** What a session asks its person. */
export type SessionQuestion = (person: Person) => Promise<Outcome<Deliver>>;

/** Whether an event puts a question to the person. */
export function isQuestion(event: SessionEvent): boolean {
  if (event.type === 'message') return event.state === 'awaited';
  return (event.type === 'approval' || event.type === 'extension') && event.state === 'waiting';
}

/** Whether a later event answers a question, or leaves nobody who wants the answer. */
export function settles(later: SessionEvent, question: SessionEvent): boolean {
  if (later.type === 'state') return sessionHasEnded(later.state);
  if (later.type === 'approval')
    return (
      question.type === 'approval' && later.approvalId === question.approvalId && later.state !== 'waiting'
    );
  if (later.type === 'extension')
    return question.type === 'extension' && later.number === question.number && later.state !== 'waiting';
  return later.type === 'message' && question.type === 'message' && later.state !== 'awaited';
}

/**
 * The question that an event is about, as the fleet has it now: while the stream was catching up it may have been
 * answered elsewhere, and then there is none.
 */
export async function findQuestion(
  client: ApiClient,
  sessionId: string,
  event: SessionEvent,
): Promise<SessionQuestion | null> {
  if (event.type === 'message') {
    const session = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id: sessionId } } }));
    if (session.reason !== 'awaiting_message') return null;
    return async (person) =>
      delivered(await askNextMessage(person), async (text) => {
        const sent = await sendNext(client, sessionId, text);
        return sent === 'sent' ? 'taken' : sent;
      });
  }
  if (event.type === 'extension') {
    const extension = await waitingExtension(client, sessionId);
    if (extension === undefined) return null;
    return async (person) =>
      delivered(await askExtension(person, extension), async (decision) => {
        const sent = await answerExtension(client, extension, decision);
        return sent === 'decided' ? 'taken' : sent;
      });
  }
  if (event.type !== 'approval') return null;
  // a sub-agent's question is answered in its own session
  const waiting = await waitingApprovals(client, event.sessionId ?? sessionId);
  const approval = waiting.find(({ id }) => id === event.approvalId);
  if (approval === undefined) return null;
  return async (person) =>
    delivered(await askApproval(person, approval), async ({ decision, message }) => {
      const sent = await decideApproval(client, approval, decision, message);
      return sent === 'decided' ? 'taken' : sent;
    });
}

function delivered<Answer>(
  outcome: Outcome<Answer>,
  send: (answer: Answer) => Promise<'taken' | 'too_late'>,
): Outcome<Deliver> {
  return typeof outcome === 'string' ? outcome : { answer: () => send(outcome.answer) };
}
