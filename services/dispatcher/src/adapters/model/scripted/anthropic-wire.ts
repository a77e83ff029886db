import type { ModelResponse } from '../../../application/ports/model-provider.ts';
import type { Reply } from './reply.ts';
import { tokensOf } from './token-count.ts';
import type { PromptTokens } from './token-count.ts';
import { answerOf, jsonDeltaLength, pieces, textDeltaLength } from './wire-parts.ts';
import type { Json, ScriptedExchange } from './wire-parts.ts';

function contentOf(reply: Reply, exchangeId: string): Json[] {
  const text = reply.text === '' ? [] : [{ type: 'text', text: reply.text }];
  const calls = reply.calls.map((call, index) => ({
    type: 'tool_use',
    id: `toolu_${exchangeId}_${index}`,
    name: call.name,
    input: call.input,
  }));
  return [...text, ...calls];
}

function usageOf(prompt: PromptTokens, outputTokens: number): Json {
  return {
    input_tokens: prompt.input,
    cache_creation_input_tokens: prompt.cacheWrite,
    cache_read_input_tokens: prompt.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: prompt.cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: 'standard',
  };
}

function* blockEvents(block: Json, index: number): Generator<Json> {
  const isText = block['type'] === 'text';
  yield {
    type: 'content_block_start',
    index,
    content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
  };
  const deltas = isText
    ? pieces(String(block['text']), textDeltaLength).map((text) => ({ type: 'text_delta', text }))
    : pieces(JSON.stringify(block['input']), jsonDeltaLength).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }));
  for (const delta of deltas) yield { type: 'content_block_delta', index, delta };
  yield { type: 'content_block_stop', index };
}

function* messageEvents(message: Json, content: readonly Json[], usage: Json): Generator<Json> {
  yield {
    type: 'message_start',
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  };
  yield { type: 'ping' };
  for (const [index, block] of content.entries()) yield* blockEvents(block, index);
  yield {
    type: 'message_delta',
    delta: { stop_reason: message['stop_reason'], stop_sequence: null },
    usage: { output_tokens: usage['output_tokens'] },
  };
  yield { type: 'message_stop' };
}

function* serverSentEvents(events: Iterable<Json>): Generator<string> {
  for (const event of events) yield `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A reply in the form of the Anthropic Messages API: one JSON body, or server-sent events when `stream` is set. */
export function answerAsMessage(reply: Reply, exchange: ScriptedExchange): ModelResponse {
  const content = contentOf(reply, exchange.id);
  const usage = usageOf(exchange.prompt, tokensOf(content));
  const message: Json = {
    id: `msg_${exchange.id}`,
    type: 'message',
    role: 'assistant',
    model: exchange.model,
    content,
    stop_reason: reply.calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage,
  };
  const chunks = exchange.stream
    ? serverSentEvents(messageEvents(message, content, usage))
    : [JSON.stringify(message)];
  return answerOf(chunks, exchange);
}
