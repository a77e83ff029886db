import type { SpanStart } from './tracer.ts';
import type { SpanAttributes } from './tracer.ts';
import type { TokenBuckets } from '../model/usage.ts';
import { isToolName } from '../tools/catalogue.ts';

/**
 * OpenTelemetry's semantic conventions for generative AI, in one place (`gen_ai.*`, development status: they still
 * move). What they would like and may not have is content: prompts, answers, arguments and results are never set.
 */

type Described = Pick<SpanStart, 'name' | 'attributes'>;

/** One attempt of a session on a server. */
export function invokeAgent(session: {
  readonly sessionId: string;
  readonly attempt: number;
  readonly runtime: string;
  readonly model: string;
}): Described {
  return {
    name: `invoke_agent ${session.runtime}`,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': session.runtime,
      'gen_ai.conversation.id': session.sessionId,
      'gen_ai.request.model': session.model,
      'lemniscate.attempt': session.attempt,
    },
  };
}

/** A tool's name as others may see it: a program in a sandbox can call its own tools whatever it likes. */
export function toolLabel(tool: string): string {
  return isToolName(tool) ? tool : 'other';
}

export function executeTool(sessionId: string, tool: string): Described {
  const name = toolLabel(tool);
  return {
    name: `execute_tool ${name}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': sessionId,
    },
  };
}

/** One exchange with a model's provider. The model is one of the fleet's own offer, checked before. */
export function chat(exchange: {
  readonly sessionId: string;
  readonly provider: string;
  readonly model: string;
}): Described {
  return {
    name: `chat ${exchange.model}`,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': exchange.provider,
      'gen_ai.request.model': exchange.model,
      'gen_ai.conversation.id': exchange.sessionId,
    },
  };
}

/** The conventions count cached tokens into the input; our buckets are disjoint. */
export function usageAttributes(tokens: TokenBuckets): SpanAttributes {
  return {
    'gen_ai.usage.input_tokens': tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
    'gen_ai.usage.output_tokens': tokens.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': tokens.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': tokens.cacheWriteTokens,
  };
}
