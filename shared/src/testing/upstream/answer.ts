import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { messageBody, streamOf } from './anthropic-answer.ts';
import { asOffered } from './offered-tools.ts';
import { responsesBody, responsesStreamOf } from './responses-answer.ts';
import type { ResponsesTools } from './responses-answer.ts';
import type { ScriptedTurn } from './turn.ts';

interface OfferedTool {
  readonly type?: string;
  readonly name?: string;
  readonly tools?: readonly OfferedTool[];
}

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly tools?: readonly OfferedTool[];
}

/** Answers one request of either API with a turn, in the client's own tools, with the turn's faults. */
export async function answerScripted(
  response: ServerResponse,
  path: string,
  body: unknown,
  turn: ScriptedTurn,
): Promise<void> {
  const asked = (typeof body === 'object' && body !== null ? body : {}) as Asked;
  if (turn.reset === true) return void response.destroy();
  if (turn.refuse !== undefined)
    return json(response, turn.refuse.status, turn.refuse.body, turn.refuse.headers);
  if (path.includes('/count_tokens')) return json(response, 200, { input_tokens: 10 });
  const model = asked.model ?? 'scripted-1';
  const tools = offeredTools(asked.tools ?? []);
  const played = asOffered(turn, tools.names);
  const ofOpenAi = path.includes('/responses');
  if (asked.stream !== true)
    return json(response, 200, ofOpenAi ? responsesBody(played, model, tools) : messageBody(played, model));
  const events = ofOpenAi ? responsesStreamOf(played, model, tools) : streamOf(played, model);
  await stream(response, events, turn);
}

/** The names that a client offers, also those within a namespace. */
function offeredTools(tools: readonly OfferedTool[]): ResponsesTools & { readonly names: string[] } {
  const inside = tools.flatMap(({ type, name, tools: members }) =>
    type === 'namespace' ? (members ?? []).map((member) => [name ?? '', member] as const) : [],
  );
  return {
    names: [
      ...tools.flatMap(({ name, type }) => (name === undefined || type === 'namespace' ? [] : [name])),
      ...inside.flatMap(([, { name }]) => (name === undefined ? [] : [name])),
    ],
    custom: tools.flatMap(({ type, name }) => (type === 'custom' && name !== undefined ? [name] : [])),
    namespaces: Object.fromEntries(inside.map(([namespace, { name }]) => [name ?? '', namespace])),
  };
}

async function stream(
  response: ServerResponse,
  events: readonly string[],
  turn: ScriptedTurn,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [sent, event] of events.entries()) {
    if (response.destroyed) return;
    if (sent === turn.cutAfter) return void response.destroy();
    if (sent === turn.stallAfter) {
      if (turn.stallMs !== undefined) setTimeout(() => response.destroy(), turn.stallMs).unref();
      return;
    }
    if (sent === turn.garbageAfter) response.write('event: message_garbage\ndata: {"type": \u0000oops\n\n');
    await new Promise((resolve) => response.write(event, resolve));
    if (turn.pauseMs !== undefined) await delay(turn.pauseMs);
  }
  response.end();
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown = { type: 'error', error: { type: 'api_error', message: `Scripted ${status}.` } },
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
