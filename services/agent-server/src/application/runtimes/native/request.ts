import { z } from 'zod';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import { modelToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';

/** Room for an answer. The gateway reserves its worst case, so it is no larger than a turn of work needs. */
const maxTokens = 16_384;

/** One message of the transcript in the provider's words. */
export interface TranscriptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

const surroundings = [
  'You work in a sandbox on a copy of the repository in /workspace; paths are relative to it.',
  'There is no network: nothing can be downloaded or installed from it.',
  'When you have finished, say in a few sentences what you changed and how you checked it. The person then reviews your',
  'changes as a diff; do not commit or push.',
].join(' ');

const schemas = new Map<ToolName, JsonObject>();

/** The catalogue's schema as the model is told it; made once, for it costs a millisecond a tool. */
function toolDefinition(name: ToolName): JsonObject {
  const known = schemas.get(name);
  if (known !== undefined) return known;
  const { $schema: _, ...schema } = z.toJSONSchema(toolCatalogue[name].schema);
  const definition = {
    name,
    description: toolCatalogue[name].description,
    input_schema: schema as JsonObject,
  };
  schemas.set(name, definition);
  return definition;
}

/** Another party's description is marked as such: it is not ours, and it may want to be obeyed. */
function remoteDefinition({ name, description, inputSchema }: RemoteToolDefinition): JsonObject {
  return {
    name: modelToolName(name),
    description: `(Tool of the remote server "${name.split('/')[0]}", in its words:) ${description}`,
    input_schema: inputSchema,
  };
}

const cached = { cache_control: { type: 'ephemeral' } } as const;

/**
 * The request for the next turn. Three markers let the provider reuse what it has read: the tools and system prompt
 * (which never change within a session), the transcript up to the last user message, and up to the one before it, so
 * that this turn finds what the former wrote.
 */
export function createRequest(
  order: SessionOrder,
  transcript: readonly TranscriptMessage[],
  options: { readonly toolsBarred?: boolean; readonly maxTokens?: number } = {},
): string {
  const tools = [...order.tools.map(toolDefinition), ...(order.remoteTools ?? []).map(remoteDefinition)];
  const system = [order.systemPrompt, surroundings].filter((text) => text !== '').join('\n\n');
  const marked = new Set(
    transcript
      .map((message, index) => ({ message, index }))
      .filter(({ message }) => message.role === 'user')
      .slice(-2)
      .map(({ index }) => index),
  );
  return JSON.stringify({
    model: order.model,
    max_tokens: options.maxTokens ?? maxTokens,
    stream: true,
    system: [{ type: 'text', text: system, ...cached }],
    // Tools stay listed when they are barred: they are part of what the provider has read already.
    ...(tools.length > 0 ? { tools } : {}),
    ...(tools.length > 0 && options.toolsBarred === true ? { tool_choice: { type: 'none' } } : {}),
    messages: transcript.map((message, index) => (marked.has(index) ? mark(message) : message)),
  });
}

function mark(message: TranscriptMessage): TranscriptMessage {
  const last = message.content.length - 1;
  return {
    role: message.role,
    content: message.content.map((block, index) => (index === last ? { ...block, ...cached } : block)),
  };
}
