import type {
  ModelEndpoint,
  ModelProvider,
  ModelResponse,
} from '../../../application/ports/model-provider.ts';
import { modelEndpoints } from '../../../application/ports/model-provider.ts';
import { answerAsMessage } from './anthropic-wire.ts';
import { readConversation, wireRequestSchema } from './conversation.ts';
import type { Conversation, WireRequest } from './conversation.ts';
import { readChatRequest, readResponsesRequest } from './openai-request.ts';
import type { ReadRequest } from './openai-request.ts';
import { answerAsChat, answerAsResponse } from './openai-wire.ts';
import type { Reply } from './reply.ts';
import { play } from './rules.ts';
import type { Script } from './script.ts';
import { countPrompt } from './token-count.ts';
import { answerJson } from './wire-parts.ts';
import type { Json, ScriptedExchange } from './wire-parts.ts';

/** The one model of the scripted provider; its price in the book is a stand-in. */
export const scriptedModel = 'scripted-1';

/** A repository can be hostile to a parser (depth, size); the exchange then fails as a provider's would. */
function tryToPlay(scripts: readonly Script[], conversation: Conversation): Reply | Error {
  try {
    return play(scripts, conversation);
  } catch (error) {
    return new Error(`The script failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** How an endpoint's requests are read and its answers and errors are written. */
interface Wire {
  read(body: Json): ReadRequest;
  answer(reply: Reply, exchange: ScriptedExchange, body: Json): ModelResponse;
  error(type: string, message: string): Json;
}

const messagesWire: Wire = {
  read: readMessages,
  answer: answerAsMessage,
  error: (type, message) => ({ type: 'error', error: { type, message } }),
};
const openAiError: Wire['error'] = (type, message) => ({
  error: { type, message, param: null, code: type === 'not_found_error' ? 'model_not_found' : null },
});
const wires: Readonly<Record<ModelEndpoint, Wire>> = {
  'anthropic-messages': messagesWire,
  'anthropic-count': { ...messagesWire, answer: answerCount },
  'openai-responses': { read: readResponsesRequest, answer: answerAsResponse, error: openAiError },
  'openai-chat': {
    read: readChatRequest,
    answer: (reply, exchange, body) =>
      answerAsChat(reply, { ...exchange, includeUsage: asksForUsage(body['stream_options']) }),
    error: openAiError,
  },
};

function readMessages(body: Json): ReadRequest {
  // Counting says nothing of an answer, so it has no bound for one.
  const read = wireRequestSchema.safeParse({ max_tokens: 0, ...body });
  if (read.success) return { ok: true, request: read.data };
  const fault = read.error.issues[0];
  return { ok: false, message: `${fault?.path.join('.') ?? ''}: ${fault?.message ?? 'not valid'}` };
}

function answerCount(_reply: Reply, exchange: ScriptedExchange): ModelResponse {
  const { input, cacheRead, cacheWrite } = exchange.prompt;
  return answerJson(200, { input_tokens: input + cacheRead + cacheWrite }, exchange.signal);
}

function asksForUsage(options: unknown): boolean {
  return (
    typeof options === 'object' &&
    options !== null &&
    'include_usage' in options &&
    options.include_usage === true
  );
}

/**
 * A model provider that needs no network and no key: it plays scripts against what the tools answer, in every wire
 * form. It keeps no state between exchanges; everything follows from the request's messages.
 */
export function createScriptedProvider(options: {
  /** Makes an id that is unique per exchange; message and tool-call ids are built on it. */
  readonly newId: () => string;
  readonly scripts: readonly Script[];
}): ModelProvider {
  const answerTo = (request: WireRequest, body: Json, wire: Wire, signal: AbortSignal): ModelResponse => {
    const { model, stream } = request;
    if (model !== scriptedModel)
      return answerJson(404, wire.error('not_found_error', `model: ${model}`), signal);
    const reply = tryToPlay(options.scripts, readConversation(request));
    if (reply instanceof Error) return answerJson(500, wire.error('api_error', reply.message), signal);
    const prompt = countPrompt(request);
    return wire.answer(reply, { id: options.newId(), model, stream: stream === true, prompt, signal }, body);
  };
  return {
    name: 'scripted',
    endpoints: new Set(modelEndpoints),
    send: async ({ endpoint, body, signal }) => {
      signal.throwIfAborted();
      const wire = wires[endpoint];
      const read = wire.read(body);
      if (!read.ok) return answerJson(400, wire.error('invalid_request_error', read.message), signal);
      return answerTo(read.request, body, wire, signal);
    },
  };
}
