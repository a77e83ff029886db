import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parseTraceparent } from '@lemniscate/shared/telemetry/trace-context.ts';
import { createBackoff, sleep } from '../../backoff.ts';
import type { TakeBytes } from '@lemniscate/shared/model/answer-body.ts';
import type { ModelAnswer } from '../../ports/dispatcher.ts';
import { readBounded } from '../native/model-exchange.ts';
import type { RuntimeContext } from '../runtime.ts';
import { refuseAtPort } from './port-refusal.ts';
import { createBodyRoom } from './request-body.ts';

/** The port of the sandbox' loopback at which a command-line agent finds its model, and our tools where it gets them. */
const port = 7400;

/** Where a program in the sandbox speaks to. */
export const loopbackUrl = `http://127.0.0.1:${port}`;

/** Longest request: the gateway's own bound. All of a session: a few of them, or the eight that may be open and are not so long. */
const bounds = { maxBytes: 32 * 1024 * 1024, maxHeldBytes: 96 * 1024 * 1024 };

/** Paths of the vendors' APIs, and what they are below the gateway. */
const endpoints: Readonly<Record<string, string>> = {
  '/v1/messages': '/anthropic/v1/messages',
  '/v1/messages/count_tokens': '/anthropic/v1/messages/count_tokens',
  '/v1/responses': '/openai/v1/responses',
};

/** Headers of the program that the gateway may see; its key is a placeholder and stays here. */
const passedOn = ['accept', 'anthropic-version', 'anthropic-beta'] as const;

/** An exchange that was refused. */
export interface RefusedExchange {
  readonly status: number;
  readonly text: string;
}

/** The model port of one session. */
export interface ModelPort {
  /** What the last exchange was refused with; null when it was answered. What a program says of it is only its word. */
  lastRefusal(): RefusedExchange | null;
  /** Requests under way, of whatever kind. */
  open(): number;
  /** Exchanges with the model under way. */
  exchanges(): number;
  /** Those of them that wait until a person has extended the budget. */
  held(): number;
  /** From now on no exchange may ask for a tool. */
  barTools(): void;
  /** Clears what was refused, before a program is told to go on. */
  forgive(): void;
}

/** Answers what is not a model's, such as our tools; false: it is not its either. */
export type OtherHandler = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** What is done with requests beside relaying them. */
export interface PortOptions {
  readonly other?: OtherHandler | undefined;
  /** Called before an exchange; false: it is never answered, for its program is about to be put away. */
  readonly before?: () => Promise<boolean>;
}

type PortContext = Pick<RuntimeContext, 'sandbox' | 'order' | 'dispatcher' | 'lease' | 'log' | 'closing'>;

/**
 * Opens the port until the session closes. Everything in the sandbox can speak to it: what comes goes through the
 * gateway's checks, is metered and paid by this session, and reaches nothing else.
 * @throws CodedError `sandbox_lost`
 */
export async function openModelPort(
  context: PortContext,
  { other, before }: PortOptions = {},
): Promise<ModelPort> {
  let refused: RefusedExchange | null = null;
  let open = 0;
  let exchanges = 0;
  let held = 0;
  let barred = false;
  const bodies = createBodyRoom(bounds);
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    open += 1;
    answer(request, response)
      .catch((error: unknown) => {
        if (!context.closing.aborted)
          context.log.warn({ sessionId: context.order.sessionId, err: error }, 'an exchange was cut');
        response.destroy();
      })
      .finally(() => {
        open -= 1;
      });
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'HEAD') return void response.writeHead(200).end();
    const path = (request.url ?? '').split('?')[0] ?? '';
    const asker = { path, runtime: context.order.runtime };
    const endpoint = request.method === 'POST' ? endpoints[path] : undefined;
    if (endpoint === undefined) {
      if ((await other?.(request, response)) === true) return;
      return refuseAtPort(
        response,
        asker,
        'not_found',
        'There is nothing here but the model that the session uses.',
      );
    }
    const body = await bodies.take(request);
    if (body.kind === 'too_large')
      return refuseAtPort(response, asker, 'too_large', `A request has at most ${bounds.maxBytes} bytes.`);
    if (body.kind === 'no_room')
      return refuseAtPort(
        response,
        asker,
        'no_room',
        'Requests that are open hold too much; one of them has to end first.',
      );
    await answerModel(endpoint, request, response, body.bytes).finally(body.done);
  };
  const answerModel = async (
    endpoint: string,
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<void> => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, context.closing]);
    if ((await before?.()) === false) return;
    // A used-up budget stays used up: what a program asks again would take the session's last exchange.
    if (refused?.status === 402 && !barred) return refusedAgain(response, refused);
    const asked = barred ? withoutTools(body) : body;
    exchanges += 1;
    try {
      const given = await relay(
        context,
        { path: endpoint, headers: headersOf(request), body: asked },
        signal,
        {
          hold: () => (held += 1),
          letGo: () => (held -= 1),
        },
      );
      refused = given.refused;
      await passOn(given, response);
    } finally {
      exchanges -= 1;
    }
  };
  await context.sandbox.listen(
    port,
    (connection) => void server.emit('connection', connection),
    context.closing,
  );
  return {
    lastRefusal: () => refused,
    open: () => open,
    exchanges: () => exchanges,
    held: () => held,
    barTools: () => {
      barred = true;
    },
    forgive: () => {
      refused = null;
    },
  };
}

interface Given {
  readonly answer: ModelAnswer;
  readonly refused: RefusedExchange | null;
}

/**
 * One exchange. While the dispatcher is away, or holds it until a person extends the budget, the program simply waits:
 * neither is its model's failure.
 */
async function relay(
  { dispatcher, order, lease, log }: PortContext,
  request: Parameters<PortContext['dispatcher']['relayModel']>[1],
  signal: AbortSignal,
  held: { hold(): void; letGo(): void },
): Promise<Given> {
  const backoff = createBackoff(300, 10_000);
  for (;;) {
    await lease.hold(signal);
    try {
      const answer = await dispatcher.relayModel(order.relayToken, request, signal);
      if (answer.status < 400) return { answer, refused: null };
      const text = await readBounded(answer);
      if (!(answer.status === 503 && text.includes('"awaiting_extension"')))
        return { answer, refused: { status: answer.status, text } };
      held.hold();
      await sleep(backoff.next(), signal).finally(held.letGo);
      continue;
    } catch (error) {
      signal.throwIfAborted();
      if (!isCodedError(error, 'service_unreachable')) throw error;
      log.warn({ sessionId: order.sessionId, err: error }, 'the dispatcher is away; asking again');
    }
    await sleep(backoff.next(), signal);
  }
}

async function passOn({ answer, refused }: Given, response: ServerResponse): Promise<void> {
  const { status, contentType, retryAfterMs } = answer;
  response.writeHead(status, {
    'content-type': contentType === '' ? 'application/json' : contentType,
    ...(retryAfterMs === null ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
  });
  if (refused !== null) return void response.end(refused.text);
  response.flushHeaders();
  const take: TakeBytes = (bytes) => (response.write(bytes) ? null : drained(response));
  if (answer.body.deliver === undefined) for await (const bytes of answer.body) await take(bytes);
  else await answer.body.deliver(take);
  response.end();
}

/** Until the program has taken what it was sent, or has left; the gateway cuts an answer that is not taken. */
function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  response.once('drain', done);
  response.once('close', done);
  return promise.finally(() => {
    response.off('drain', done);
    response.off('close', done);
  });
}

/** A program may have a trace of its own: it is handed on as something to link, under a name that nobody takes for ours. */
function refusedAgain(response: ServerResponse, { status, text }: RefusedExchange): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const { traceparent } = request.headers;
  const own = parseTraceparent(traceparent) === null ? {} : { 'x-sandbox-traceparent': String(traceparent) };
  const passed = Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
  return { ...passed, ...own };
}

/** Tools stay listed, for the provider has read them already; both APIs know this word. */
function withoutTools(body: Buffer): Buffer {
  const parsed = jsonObjectSchema.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) return body;
  const { tools } = parsed.data;
  if (!Array.isArray(tools) || tools.length === 0) return body;
  const ofAnthropic = 'messages' in parsed.data;
  return Buffer.from(
    JSON.stringify({ ...parsed.data, tool_choice: ofAnthropic ? { type: 'none' } : 'none' }),
  );
}
