import { ask } from '@lemniscate/api/client.ts';
import { randomUUID } from 'node:crypto';
import { methods } from '@agentclientprotocol/sdk';
import type { AgentContext, SessionUpdate, StopReason } from '@agentclientprotocol/sdk';
import type { CreateSession, SessionView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { followSession } from '../follow/event-stream.ts';
import { waitingApprovals } from '../follow/approvals.ts';
import { finishSession, sendMessage } from '../follow/messages.ts';
import { openSession } from '../open-session.ts';
import type { ConversationStore, StoredConversation } from './conversation-store.ts';
import { askInEditor } from './permissions.ts';
import { createQuestions } from './questions.ts';
import type { Question } from './questions.ts';
import { reviewInEditor } from './review.ts';
import { createUpdateWriter } from './updates.ts';

export interface ConversationDeps {
  readonly client: ApiClient;
  readonly store: ConversationStore;
  /** What every session is opened with: project, model, runtime, where it runs. */
  readonly order: () => Promise<Omit<CreateSession, 'repository' | 'instruction' | 'surface'>>;
  /** Aborted when the editor has gone. */
  readonly signal: AbortSignal;
}

/** One conversation of an editor; behind it, one session of the fleet after the other. */
export interface Conversation {
  /** Opens a session with the first words and continues it with later ones; resolves when the agent has answered. */
  prompt(editor: AgentContext, text: string): Promise<StopReason>;
  /** Ends what the agent does at the moment. */
  cancel(): Promise<void>;
  /** Shows everything that has happened again. */
  replay(editor: AgentContext): Promise<void>;
  /** The editor has closed the conversation: the session completes with its diff. */
  close(): Promise<void>;
}

/** New with each start of this process. */
const clientRun = randomUUID();

/** How long the fleet may be away before the editor is told. */
const patienceMs = 5 * 60_000;

/** What a person may say instead of a message. */
export const finishCommand = '/finish';

export function createConversation(
  deps: ConversationDeps,
  id: string,
  stored: StoredConversation,
): Conversation {
  const { client } = deps;
  let sessionId = stored.fleetSessionId;
  let position = 0;
  let attached: string | null = null;
  let cancelled = false;
  let turn: AbortController | null = null;
  /** While what the person said is on its way to the fleet. */
  let speaking: AbortController | null = null;
  /** Whether the present session has done anything that could be lost. */
  let worked = stored.fleetSessionId !== null;
  const writer = createUpdateWriter(stored.folder);

  const show = (editor: AgentContext, update: SessionUpdate): Promise<void> =>
    editor.notify(methods.client.session.update, { sessionId: id, update });
  const say = (editor: AgentContext, text: string): Promise<void> =>
    show(editor, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });

  async function open(text: string, cancelling: AbortSignal): Promise<string> {
    const order = await unlessAborted(deps.order(), cancelling);
    const { session } = await openSession(
      client,
      {
        ...order,
        repositoryFolder: stored.folder,
        instruction: text,
        surface: 'ide',
        interactive: true,
        followUps: true,
      },
      AbortSignal.any([deps.signal, cancelling]),
    );
    sessionId = session.id;
    position = 0;
    worked = false;
    await deps.store.write(id, { folder: stored.folder, fleetSessionId: session.id });
    await attach(session.id);
    return session.id;
  }

  /** The session's counters belong to this run of the editor's agent: one that was loaded again starts fresh. */
  async function attach(to: string): Promise<void> {
    if (attached === to) return;
    const body = { run: clientRun };
    await ask(client.api.PUT('/v1/sessions/{id}/client-run', { params: { path: { id: to } }, body }));
    attached = to;
  }

  /** Says it to the present session, or opens a new one where that has ended. */
  async function speak(editor: AgentContext, text: string, cancelling: AbortSignal): Promise<string> {
    if (sessionId === null) return open(text, cancelling);
    try {
      await attach(sessionId);
      await sendMessage(client, sessionId, text);
      return sessionId;
    } catch (error) {
      if (!isCodedError(error, 'session_ended') && !isCodedError(error, 'conflict')) throw error;
      await say(editor, 'The former session has ended; this begins a new one on the folder as it is.\n\n');
      return open(text, cancelling);
    }
  }

  /** Says it, unless the person cancels before it has arrived. @returns null when they did: there is nothing to follow */
  async function send(editor: AgentContext, text: string): Promise<string | null> {
    const cancelling = new AbortController();
    speaking = cancelling;
    try {
      return await speak(editor, text, cancelling.signal);
    } catch (error) {
      if (!cancelling.signal.aborted || isCodedError(error)) throw error;
      return null;
    } finally {
      speaking = null;
    }
  }

  /**
   * Ends what the agent does. A session that has not begun yet cannot be interrupted; it is stopped, for nothing of it can
   * be lost. One that comes back from a pause is interrupted as soon as it runs.
   */
  async function cut(followed: string): Promise<void> {
    const params = { path: { id: followed } };
    try {
      await ask(client.api.POST('/v1/sessions/{id}/interrupt', { params }));
    } catch (error) {
      if (isCodedError(error, 'session_ended')) return;
      if (!isCodedError(error, 'conflict')) throw error;
      if (!worked) await ask(client.api.POST('/v1/sessions/{id}/stop', { params }));
    }
  }

  async function follow(editor: AgentContext, followed: string): Promise<StopReason> {
    turn = new AbortController();
    const questions = createQuestions(followed, askPerson(editor));
    try {
      if (cancelled) await cut(followed);
      const events = followSession(client, {
        sessionId: followed,
        after: position,
        signal: AbortSignal.any([deps.signal, turn.signal]),
        patienceMs,
      });
      for await (const event of events) {
        position = event.position;
        if (event.event.type === 'turn') worked = true;
        for (const update of writer.updates(event.event, false)) await show(editor, update);
        questions.hear(event.event);
        if (cancelled && event.event.type === 'state' && event.event.state === 'running') await cut(followed);
        const paused = pauseOf(event.event);
        if (paused !== null) return cancelled ? 'cancelled' : paused;
      }
      return await ended(editor, followed);
    } finally {
      await questions.settle();
      turn = null;
    }
  }

  const askPerson =
    (editor: AgentContext) =>
    async (question: Question, withdrawn: AbortSignal): Promise<void> => {
      const waiting = await waitingApprovals(client, question.sessionId);
      const approval = waiting.find((candidate) => candidate.id === question.approvalId);
      // While the stream was catching up it may have been answered elsewhere.
      if (approval !== undefined) await askInEditor(client, editor, id, stored.folder, approval, withdrawn);
    };

  async function ended(editor: AgentContext, followed: string): Promise<StopReason> {
    const session = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id: followed } } }));
    if (session.reason !== 'finished' && session.message !== null)
      await say(editor, `\n\n${session.state} (${session.reason ?? ''}): ${session.message}\n`);
    if (offersFiles(session))
      await say(editor, `\n\n${await reviewInEditor(client, editor, id, stored.folder, session)}\n`);
    return cancelled ? 'cancelled' : stopReasonOf(session);
  }

  return {
    prompt: async (editor, text) => {
      cancelled = false;
      if (text === finishCommand) {
        if (sessionId === null) return 'end_turn';
        await finishSession(client, sessionId);
        return follow(editor, sessionId);
      }
      const followed = await send(editor, text);
      return followed === null ? 'cancelled' : follow(editor, followed);
    },
    cancel: async () => {
      cancelled = true;
      speaking?.abort();
      if (sessionId !== null && turn !== null) await cut(sessionId);
    },
    replay: async (editor) => {
      if (sessionId === null) return;
      const { instruction } = await ask(
        client.api.GET('/v1/sessions/{id}', { params: { path: { id: sessionId } } }),
      );
      await show(editor, {
        sessionUpdate: 'user_message_chunk',
        content: { type: 'text', text: instruction },
      });
      for await (const event of readLog(client, sessionId)) {
        position = event.position;
        for (const update of writer.updates(event.event, true)) await show(editor, update);
      }
    },
    close: async () => {
      if (sessionId === null) return;
      await finishSession(client, sessionId).catch((error: unknown) => {
        if (!isCodedError(error, 'session_ended') && !isCodedError(error, 'conflict')) throw error;
      });
    },
  };
}

/** Waits no longer than until it is aborted; the work itself goes on, for others may wait for it too. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Where a session waits for its person's next message, and why. */
function pauseOf(event: SessionEvent): StopReason | null {
  if (event.type === 'message' && event.state === 'awaited') return 'end_turn';
  if (event.type === 'extension' && event.state === 'waiting') return 'max_turn_requests';
  return null;
}

function offersFiles(
  session: SessionView,
): session is SessionView & { readonly diff: NonNullable<SessionView['diff']> } {
  return session.diff !== null && session.diff.state === 'offered' && session.diff.files.length > 0;
}

function stopReasonOf(session: SessionView): StopReason {
  const reason = session.reason ?? '';
  if (reason === 'finished') return 'end_turn';
  if (reason === 'stopped') return 'cancelled';
  return reason.includes('budget') ? 'max_turn_requests' : 'refusal';
}

const logPageSchema = z.object({ events: z.array(positionedEventSchema), nextAfter: z.number().nullable() });

async function* readLog(client: ApiClient, sessionId: string): AsyncGenerator<PositionedEvent> {
  let after: number | null = 0;
  while (after !== null) {
    const page: z.infer<typeof logPageSchema> = await ask(
      client.api.GET('/v1/sessions/{id}/log', {
        params: { path: { id: sessionId }, query: { after } },
      }),
    );
    yield* page.events;
    after = page.nextAfter;
  }
}
