import { z } from 'zod';

const contentSchema = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);

/** The part of a Messages request that the scripted model reads; everything else is left alone. */
export const wireRequestSchema = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().min(0),
  stream: z.boolean().optional(),
  system: z.unknown().optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  messages: z
    .array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: contentSchema }))
    .min(1),
});
export type WireRequest = z.infer<typeof wireRequestSchema>;
type Content = z.infer<typeof contentSchema>;

/** One tool call of the model with what came back. */
export interface ToolExchange {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly result: string;
  readonly isError: boolean;
}

/** What the model is asked, and what it has done about it since. */
export interface Conversation {
  /** The newest text of the person; tool results are not instructions. */
  readonly instruction: string;
  readonly exchanges: readonly ToolExchange[];
  /** Names of the offered tools. */
  readonly tools: readonly string[];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => (block as { text?: unknown } | null)?.text)
    .filter((text): text is string => typeof text === 'string')
    .join('\n');
}

const blocksOf = (content: Content) => (typeof content === 'string' ? [] : content);
const isInstruction = (message: WireRequest['messages'][number]): boolean =>
  message.role === 'user' && blocksOf(message.content).every((block) => block.type !== 'tool_result');

/**
 * Reads a request as a conversation. A tool's name is matched by its ending (`mcp__x__run_command` is
 * `run_command`), so that hosted tools work as built-in ones do.
 */
export function readConversation(request: WireRequest): Conversation {
  const start = Math.max(0, request.messages.findLastIndex(isInstruction));
  const since = request.messages.slice(start);
  const results = new Map(
    since
      .flatMap((message) => blocksOf(message.content))
      .filter((block) => block.type === 'tool_result')
      .map((block) => [String(block['tool_use_id']), block] as const),
  );
  const exchanges = since
    .flatMap((message) => blocksOf(message.content))
    .filter((block) => block.type === 'tool_use')
    .flatMap((block): ToolExchange[] => {
      const result = results.get(String(block['id']));
      const input = z.record(z.string(), z.unknown()).safeParse(block['input']);
      if (result === undefined || !input.success) return [];
      return [
        {
          tool: baseName(String(block['name'])),
          input: input.data,
          result: textOf(result['content']),
          isError: result['is_error'] === true,
        },
      ];
    });
  const first = since[0];
  return {
    instruction: first === undefined ? '' : textOf(first.content),
    exchanges,
    tools: (request.tools ?? []).map((tool) => tool.name),
  };
}

/** `mcp__lemniscate__run_command` → `run_command`. */
export function baseName(tool: string): string {
  return tool.split('__').at(-1) ?? tool;
}
