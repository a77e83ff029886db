import { z } from 'zod';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import type { MessageEvent } from './message-event.ts';

/** A request for a tool as the model wrote it: the arguments are fragments put together, not yet parsed. */
export interface ToolUse {
  readonly kind: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
  /** False when the output ended inside it. */
  readonly whole: boolean;
}
export type MessageBlock =
  | { readonly kind: 'text'; readonly text: string }
  | ToolUse
  /** Kept and sent back as it came: thinking with its signature, and whatever a later model adds. */
  | { readonly kind: 'opaque'; readonly block: JsonObject };

/** A whole answer of the model. */
export interface ModelMessage {
  readonly blocks: readonly MessageBlock[];
  readonly stopReason: string;
}

/** What one event added, for the live view. */
export type DraftChange =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string }
  /** The arguments of a request so far, while they are short enough to be shown. */
  | { readonly kind: 'arguments'; readonly id: string; readonly text: string }
  | null;

/** Arguments beyond this show nothing new of what a request is about. */
const shownArguments = 2_000;
const maxBlocks = 256;
const maxCharacters = 32 * 1024 * 1024;

interface DraftBlock {
  readonly type: string;
  readonly start: JsonObject;
  readonly id: string;
  readonly name: string;
  text: string;
  signature: string;
  stopped: boolean;
}

/** Puts a streamed message together. Throws plain errors for a stream that breaks the wire's rules; the exchange is then repeated. */
export function createMessageDraft() {
  const blocks: DraftBlock[] = [];
  let stopReason: string | null = null;
  let stopped = false;
  let characters = 0;

  const block = (index: number): DraftBlock => {
    const found = blocks[index];
    if (found === undefined || found.stopped)
      throw new Error(`the stream speaks of block ${index}, which is not open`);
    return found;
  };

  function start(index: number, content: Record<string, unknown> & { type: string }): DraftChange {
    if (index !== blocks.length || index >= maxBlocks)
      throw new Error(`the stream opens block ${index} out of order`);
    const begun = openBlock(content);
    blocks.push(begun);
    if (begun.type === 'tool_use') {
      if (blocks.some((other) => other !== begun && other.id === begun.id && other.type === 'tool_use')) {
        throw new Error(`two tool requests share the id ${begun.id}`);
      }
      return { kind: 'tool', id: begun.id, name: begun.name };
    }
    return begun.type === 'text' && begun.text !== '' ? { kind: 'text', text: begun.text } : null;
  }

  function grow(
    index: number,
    delta: Extract<MessageEvent, { type: 'content_block_delta' }>['delta'],
  ): DraftChange {
    const target = block(index);
    if (delta.type === 'signature_delta') {
      target.signature += delta.signature;
      return null;
    }
    const piece = textOf(delta);
    characters += piece.length;
    if (characters > maxCharacters) throw new Error(`the answer is longer than ${maxCharacters} characters`);
    target.text += piece;
    if (delta.type === 'text_delta') return { kind: 'text', text: piece };
    if (target.type !== 'tool_use' || target.text.length > shownArguments) return null;
    return { kind: 'arguments', id: target.id, text: target.text };
  }

  return {
    add(event: MessageEvent): DraftChange {
      switch (event.type) {
        case 'content_block_start':
          return start(event.index, event.content_block);
        case 'content_block_delta':
          return grow(event.index, event.delta);
        case 'content_block_stop':
          block(event.index).stopped = true;
          return null;
        case 'message_delta':
          stopReason = event.delta.stop_reason ?? stopReason;
          return null;
        case 'message_stop':
          stopped = true;
          return null;
        default:
          return null;
      }
    },
    /** The whole message, or null while the stream has not said that it is one. */
    message(): ModelMessage | null {
      if (!stopped || stopReason === null) return null;
      const cutShort = stopReason === 'max_tokens';
      const last = blocks.at(-1);
      return { stopReason, blocks: blocks.map((each) => finishBlock(each, !(cutShort && each === last))) };
    },
  };
}

const toolStart = z.object({ id: z.string().min(1).max(512), name: z.string().min(1).max(512) });

function openBlock(content: Record<string, unknown> & { type: string }): DraftBlock {
  const common = {
    type: content.type,
    start: jsonObjectSchema.parse(content),
    signature: '',
    stopped: false,
  };
  if (content.type === 'tool_use') return { ...common, ...toolStart.parse(content), text: '' };
  const text = content['text'] ?? content['thinking'];
  return { ...common, id: '', name: '', text: typeof text === 'string' ? text : '' };
}

function finishBlock(block: DraftBlock, whole: boolean): MessageBlock {
  if (block.type === 'text') return { kind: 'text', text: block.text };
  if (block.type === 'tool_use') {
    // A tool without parameters comes without a single fragment: the wire's way to write an empty object.
    const argumentsText = block.text === '' && whole && block.stopped ? '{}' : block.text;
    return { kind: 'tool_use', id: block.id, name: block.name, argumentsText, whole: whole && block.stopped };
  }
  if (block.type === 'thinking') {
    return { kind: 'opaque', block: { type: 'thinking', thinking: block.text, signature: block.signature } };
  }
  return { kind: 'opaque', block: block.start };
}

type Delta = Extract<MessageEvent, { type: 'content_block_delta' }>['delta'];

function textOf(delta: Exclude<Delta, { type: 'signature_delta' }>): string {
  if (delta.type === 'text_delta') return delta.text;
  return delta.type === 'input_json_delta' ? delta.partial_json : delta.thinking;
}
