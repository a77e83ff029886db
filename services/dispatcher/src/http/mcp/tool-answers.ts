import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** What a tool answers: one JSON document, as data and as text for clients that read only that. */
export function answer(value: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
}

/**
 * A refusal is an answer: its reader is a model, which can correct itself. What is ours is told without its inside.
 */
export function refusal(error: unknown): CallToolResult {
  const told = isCodedError(error)
    ? { code: error.code, message: error.message }
    : {
        code: 'internal',
        message: 'A fault of ours; nothing is known to have been done. Look, then ask again.',
      };
  return { isError: true, content: [{ type: 'text', text: `${told.code}: ${told.message}` }] };
}
