import type { ModelProvider } from '../../../application/ports/model-provider.ts';
import { answerError, answerInWireForm } from './anthropic-wire.ts';
import { readConversation, wireRequestSchema } from './conversation.ts';
import type { Conversation } from './conversation.ts';
import type { Reply } from './reply.ts';
import { play } from './rules.ts';
import type { Script } from './script.ts';
import { countPrompt } from './token-count.ts';

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

/**
 * A model provider that needs no network and no key: it plays scripts against what the tools answer. It keeps no
 * state between exchanges; everything follows from the request's messages.
 */
export function createScriptedProvider(options: {
  /** Makes an id that is unique per exchange; message and tool-call ids are built on it. */
  readonly newId: () => string;
  readonly scripts: readonly Script[];
}): ModelProvider {
  return {
    name: 'scripted',
    wire: 'anthropic-messages',
    send: async ({ body, signal }) => {
      signal.throwIfAborted();
      const request = wireRequestSchema.safeParse(body);
      if (!request.success) {
        const fault = request.error.issues[0];
        const message = `${fault?.path.join('.') ?? ''}: ${fault?.message ?? 'not valid'}`;
        return answerError(400, 'invalid_request_error', message, signal);
      }
      const { model, stream } = request.data;
      if (model !== scriptedModel) return answerError(404, 'not_found_error', `model: ${model}`, signal);
      const reply = tryToPlay(options.scripts, readConversation(request.data));
      if (reply instanceof Error) return answerError(500, 'api_error', reply.message, signal);
      return answerInWireForm(reply, {
        id: options.newId(),
        model,
        stream: stream === true,
        prompt: countPrompt(request.data),
        signal,
      });
    },
  };
}
