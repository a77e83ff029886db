import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { findOpenedSession } from '../../application/sessions/find-opened.ts';
import { getSession } from '../../application/sessions/read-sessions.ts';
import type { McpCaller } from './mcp-caller.ts';
import { sessionAnswer } from './session-tools.ts';
import { writeTicket } from './streams.ts';
import type { CallTicket } from './streams.ts';
import { requireToolAccess } from './tool-access.ts';
import { refusal } from './tool-answers.ts';
import { waitForSession } from './wait-for-session.ts';

/** The call may have been cut before its transaction committed. */
const commitMs = 5_000;
const keepAliveMs = 15_000;

/**
 * Goes on with the answer to a call that opened a session, for a client that lost the connection and came back with the
 * last event's id: progress, then the answer, then the end.
 */
export async function resumeCall(raw: ServerResponse, caller: McpCaller, ticket: CallTicket): Promise<void> {
  const gone = new AbortController();
  raw.on('close', () => gone.abort());
  raw.on('error', () => gone.abort());
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.write(': open\n\n');
  // A reader that takes nothing gets nothing more: the record has it all.
  const say = (text: string): void => {
    if (!raw.writableNeedDrain && !raw.writableEnded) raw.write(text);
  };
  const keepAlive = setInterval(() => say(': waiting\n\n'), keepAliveMs);
  let number = 1;
  const send = (message: object): void => {
    number += 1;
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    raw.write(`event: message\nid: ${writeTicket(ticket, number)}\ndata: ${body}\n\n`);
  };
  try {
    const result = await outcome(caller, ticket, gone.signal, send).catch((error: unknown) =>
      caller.refused(error, refusal(error)),
    );
    if (!gone.signal.aborted && result !== null) send({ id: ticket.requestId, result });
  } finally {
    clearInterval(keepAlive);
    raw.end();
  }
}

async function outcome(
  caller: McpCaller,
  ticket: CallTicket,
  gone: AbortSignal,
  send: (message: object) => void,
) {
  const { deps, person } = caller;
  const deadline = deps.clock.monotonicMs() + commitMs;
  let id = await findOpenedSession(deps.database, person.subject, ticket.key);
  while (id === null && deps.clock.monotonicMs() < deadline && !gone.aborted) {
    await pause(200);
    id = await findOpenedSession(deps.database, person.subject, ticket.key);
  }
  if (id === null) {
    const text = 'No session was opened by this call. Call create_session again.';
    return { isError: true, content: [{ type: 'text' as const, text }] };
  }
  await requireToolAccess(deps.database, person, 'GET /v1/sessions/:id', { kind: 'session', session: id });
  const session = await waitForSession(deps, id, ticket.askedAt, gone, (progress) => {
    const { progressToken } = ticket;
    if (progressToken !== null)
      send({ method: 'notifications/progress', params: { progressToken, ...progress } });
    return Promise.resolve();
  });
  return sessionAnswer(session ?? (await getSession(deps.database, id)));
}
