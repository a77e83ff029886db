import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerScripted } from './answer.ts';
import type { ScriptedTurn } from './turn.ts';

/** One request as it came in. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, or the text where it is none. */
  readonly body: unknown;
}

/** A model API on this machine that answers by script, in the place of the vendors'. */
export interface ScriptedUpstream {
  /** Base address for both APIs: `/v1/messages`, `/v1/responses`. */
  readonly url: string;
  readonly requests: readonly LoggedRequest[];
  /** Decides on each answer; by default the turns of `play` in order. */
  onRequest: (request: LoggedRequest) => ScriptedTurn;
  /** Plays turns in order; requests without tools, such as for a title, get a word and use none up. */
  play(turns: readonly ScriptedTurn[]): void;
  close(): Promise<void>;
}

const scriptIsOver: ScriptedTurn = {
  blocks: [],
  refuse: { status: 400, body: { error: { type: 'invalid_request_error', message: 'The script is over.' } } },
};

/** Plays turns in order, whoever asks. */
export function inOrder(turns: readonly ScriptedTurn[]): (request: LoggedRequest) => ScriptedTurn {
  let next = 0;
  return ({ body }) => {
    const { tools } = body as { tools?: readonly unknown[] };
    if (tools === undefined || tools.length === 0) return { blocks: [{ text: 'Work' }] };
    const turn = turns[next];
    next += 1;
    return turn ?? scriptIsOver;
  };
}

export async function startScriptedUpstream(port = 0): Promise<ScriptedUpstream> {
  const requests: LoggedRequest[] = [];
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const logged = await logOf(request);
    requests.push(logged);
    if (request.method !== 'POST') return void response.writeHead(200).end();
    await answerScripted(response, logged.path, logged.body, self.onRequest(logged));
  };
  const self: ScriptedUpstream = {
    url: '',
    requests,
    onRequest: () => scriptIsOver,
    play: (turns) => {
      self.onRequest = inOrder(turns);
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(self, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function logOf(request: IncomingMessage): Promise<LoggedRequest> {
  const text = Buffer.concat((await request.toArray()) as Buffer[]).toString('utf8');
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON, which the log then shows.
  }
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
}
