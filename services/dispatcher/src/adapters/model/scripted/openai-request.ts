import { z } from 'zod';
import type { WireRequest } from './conversation.ts';

type Json = Readonly<Record<string, unknown>>;
type Message = WireRequest['messages'][number];
type Block = Json & { readonly type: string };

const loose = z.looseObject({ type: z.string().optional(), role: z.string().optional() });
const toolSchema = z.looseObject({
  name: z.string().optional(),
  function: z.looseObject({ name: z.string() }).optional(),
  custom: z.looseObject({ name: z.string() }).optional(),
});
const responsesSchema = z.looseObject({
  model: z.string().min(1),
  stream: z.boolean().nullish(),
  instructions: z.string().nullish(),
  input: z.union([z.string(), z.array(loose)]),
  tools: z.array(toolSchema).optional(),
});
const chatSchema = z.looseObject({
  model: z.string().min(1),
  stream: z.boolean().nullish(),
  messages: z.array(loose).min(1),
  tools: z.array(toolSchema).optional(),
});

/** A request in the form that the scripts read, or the fault that the provider would name. */
export type ReadRequest =
  | { readonly ok: true; readonly request: WireRequest }
  | { readonly ok: false; readonly message: string };

/** Reads a request of the Responses API. */
export function readResponsesRequest(body: unknown): ReadRequest {
  const read = responsesSchema.safeParse(body);
  if (!read.success) return refused(read.error);
  const { model, stream, instructions, input, tools } = read.data;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return accepted({
    model,
    stream: stream === true,
    system: instructions ?? '',
    tools: namesOf(tools),
    messages: items.flatMap(fromItem),
  });
}

/** Reads a request of the Chat Completions API. */
export function readChatRequest(body: unknown): ReadRequest {
  const read = chatSchema.safeParse(body);
  if (!read.success) return refused(read.error);
  const { model, stream, messages, tools } = read.data;
  return accepted({
    model,
    stream: stream === true,
    system: '',
    tools: namesOf(tools),
    messages: messages.flatMap(fromMessage),
  });
}

function accepted(
  request: Pick<WireRequest, 'model' | 'stream' | 'system' | 'tools' | 'messages'>,
): ReadRequest {
  if (request.messages.length === 0) return { ok: false, message: 'nothing is said' };
  return { ok: true, request: { max_tokens: 0, ...request } };
}

function refused(error: z.ZodError): ReadRequest {
  const fault = error.issues[0];
  return { ok: false, message: `${fault?.path.join('.') ?? ''}: ${fault?.message ?? 'not valid'}` };
}

function namesOf(tools: readonly z.infer<typeof toolSchema>[] | undefined): { name: string }[] {
  return (tools ?? []).map((tool) => ({
    name: tool.name ?? tool.function?.name ?? tool.custom?.name ?? '',
  }));
}

function fromItem(item: Json): Message[] {
  if (item['type'] === 'function_call')
    return [said('assistant', use(item['call_id'], item['name'], item['arguments']))];
  if (item['type'] === 'function_call_output') return [said('user', result(item['call_id'], item['output']))];
  if (typeof item['role'] !== 'string') return [];
  return [said(roleOf(item['role']), { type: 'text', text: textOf(item['content']) })];
}

function fromMessage(message: Json): Message[] {
  if (message['role'] === 'tool') return [said('user', result(message['tool_call_id'], message['content']))];
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as Json[]) : [];
  const uses = calls.map((call) => {
    const called = (call['function'] ?? {}) as Json;
    return use(call['id'], called['name'], called['arguments']);
  });
  return [said(roleOf(String(message['role'])), { type: 'text', text: textOf(message['content']) }, ...uses)];
}

/** Results that came back for one call each belong to one turn of the user, as in the Messages form. */
function said(role: Message['role'], ...blocks: readonly Block[]): Message {
  return { role, content: [...blocks] };
}

function roleOf(role: string): Message['role'] {
  return role === 'user' || role === 'assistant' ? role : 'system';
}

function use(id: unknown, name: unknown, input: unknown): Block {
  return { type: 'tool_use', id: String(id), name: String(name), input: parsed(String(input)) };
}

function result(id: unknown, output: unknown): Block {
  return { type: 'tool_result', tool_use_id: String(id), content: textOf(output), is_error: false };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The model's own arguments came back damaged: the call counts as not made.
    return null;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: Json) => (typeof part['text'] === 'string' ? part['text'] : '')).join('\n');
}
