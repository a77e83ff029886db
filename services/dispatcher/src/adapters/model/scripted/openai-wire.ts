import type { ModelResponse } from '../../../application/ports/model-provider.ts';
import type { Reply, ReplyCall } from './reply.ts';
import { tokensOf } from './token-count.ts';
import { answerOf, jsonDeltaLength, pieces, textDeltaLength } from './wire-parts.ts';
import type { Json, ScriptedExchange } from './wire-parts.ts';

interface Told {
  readonly reply: Reply;
  readonly exchange: ScriptedExchange;
}

const callId = (exchange: ScriptedExchange, index: number): string => `call_${exchange.id}_${index}`;
const argumentsOf = (call: ReplyCall): string => JSON.stringify(call.input);

function sumOf({ reply, exchange }: Told): {
  input: number;
  cached: number;
  written: number;
  output: number;
} {
  const { input, cacheRead: cached, cacheWrite: written } = exchange.prompt;
  return { input: input + cached + written, cached, written, output: tokensOf([reply.text, reply.calls]) };
}

/** A reply in the form of the Responses API. */
export function answerAsResponse(reply: Reply, exchange: ScriptedExchange): ModelResponse {
  const told = { reply, exchange };
  const items = itemsOf(told);
  const whole = responseOf(told, 'completed', items);
  return answerOf(exchange.stream ? responseEvents(told, items, whole) : [JSON.stringify(whole)], exchange);
}

function itemsOf({ reply, exchange }: Told): Json[] {
  const text = {
    type: 'message',
    id: `msg_${exchange.id}`,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: reply.text, annotations: [] }],
  };
  const calls = reply.calls.map((call, index) => ({
    type: 'function_call',
    id: `fc_${exchange.id}_${index}`,
    call_id: callId(exchange, index),
    name: call.name,
    arguments: argumentsOf(call),
    status: 'completed',
  }));
  return [...(reply.text === '' ? [] : [text]), ...calls];
}

function responseOf(told: Told, status: string, output: readonly Json[]): Json {
  const { input, cached, written, output: out } = sumOf(told);
  return {
    id: `resp_${told.exchange.id}`,
    object: 'response',
    status,
    model: told.exchange.model,
    output,
    service_tier: 'default',
    error: null,
    incomplete_details: null,
    usage:
      status === 'completed'
        ? {
            input_tokens: input,
            input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
            output_tokens: out,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: input + out,
          }
        : null,
  };
}

function* responseEvents(told: Told, items: readonly Json[], whole: Json): Generator<string> {
  let sequence = 0;
  const event = (type: string, data: Json): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...data })}\n\n`;
  const begun = responseOf(told, 'in_progress', []);
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  for (const [index, item] of items.entries()) {
    const place = { output_index: index, item_id: item['id'] };
    const isCall = item['type'] === 'function_call';
    const empty = isCall ? { ...item, arguments: '' } : { ...item, content: [] };
    yield event('response.output_item.added', {
      output_index: index,
      item: { ...empty, status: 'in_progress' },
    });
    yield* isCall
      ? callEvents(event, place, String(item['arguments']))
      : textEvents(event, place, told.reply);
    yield event('response.output_item.done', { output_index: index, item });
  }
  yield event('response.completed', { response: whole });
}

type EventOf = (type: string, data: Json) => string;

function* callEvents(event: EventOf, place: Json, text: string): Generator<string> {
  for (const delta of pieces(text, jsonDeltaLength))
    yield event('response.function_call_arguments.delta', { ...place, delta });
  yield event('response.function_call_arguments.done', { ...place, arguments: text });
}

function* textEvents(event: EventOf, place: Json, reply: Reply): Generator<string> {
  const at = { ...place, content_index: 0 };
  const part = { type: 'output_text', annotations: [] };
  yield event('response.content_part.added', { ...at, part: { ...part, text: '' } });
  for (const delta of pieces(reply.text, textDeltaLength))
    yield event('response.output_text.delta', { ...at, delta });
  yield event('response.output_text.done', { ...at, text: reply.text });
  yield event('response.content_part.done', { ...at, part: { ...part, text: reply.text } });
}

/** A reply in the form of the Chat Completions API; usage comes with a last chunk where the request asks for it. */
export function answerAsChat(
  reply: Reply,
  exchange: ScriptedExchange & { readonly includeUsage: boolean },
): ModelResponse {
  const told = { reply, exchange };
  const chunks = exchange.stream
    ? chatChunks(told, exchange.includeUsage)
    : [JSON.stringify(completionOf(told))];
  return answerOf(chunks, exchange);
}

function chatUsage(told: Told): Json {
  const { input, cached, written, output } = sumOf(told);
  return {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens: output,
    total_tokens: input + output,
  };
}

const headOf = ({ exchange }: Told, object: string): Json => ({
  id: `chatcmpl-${exchange.id}`,
  object,
  created: 0,
  model: exchange.model,
  service_tier: 'default',
});
const finishOf = (reply: Reply): string => (reply.calls.length > 0 ? 'tool_calls' : 'stop');
const toolCallOf = ({ exchange }: Told, call: ReplyCall, index: number): Json => ({
  id: callId(exchange, index),
  type: 'function',
  function: { name: call.name, arguments: argumentsOf(call) },
});

function completionOf(told: Told): Json {
  const { reply } = told;
  const calls = reply.calls.map((call, index) => toolCallOf(told, call, index));
  const message = {
    role: 'assistant',
    content: reply.text === '' ? null : reply.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...headOf(told, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
    usage: chatUsage(told),
  };
}

function* chatChunks(told: Told, includeUsage: boolean): Generator<string> {
  const { reply } = told;
  const head = headOf(told, 'chat.completion.chunk');
  const line = (data: Json): string => `data: ${JSON.stringify({ ...head, ...data })}\n\n`;
  const chunk = (delta: Json, finish: string | null = null): string =>
    line({ choices: [{ index: 0, delta, finish_reason: finish }], ...(includeUsage ? { usage: null } : {}) });
  yield chunk({ role: 'assistant', content: '' });
  for (const content of pieces(reply.text, textDeltaLength)) yield chunk({ content });
  for (const [index, call] of reply.calls.entries()) {
    const { id, type } = toolCallOf(told, call, index);
    yield chunk({ tool_calls: [{ index, id, type, function: { name: call.name, arguments: '' } }] });
    for (const text of pieces(argumentsOf(call), jsonDeltaLength))
      yield chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  }
  yield chunk({}, finishOf(reply));
  if (includeUsage) yield line({ choices: [], usage: chatUsage(told) });
  yield 'data: [DONE]\n\n';
}
