import { createParser } from 'eventsource-parser';
import { parseObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import type { ResponseUsage } from './usage.ts';
import { createAnthropicFold } from './usage-anthropic.ts';
import type { UsageFold } from './usage-fold.ts';
import { createChatFold } from './usage-openai-chat.ts';
import { createResponsesFold } from './usage-openai-responses.ts';

/** The wire forms whose usage can be read. */
export const usageFolds = {
  'anthropic-messages': createAnthropicFold,
  'openai-responses': createResponsesFold,
  'openai-chat': createChatFold,
} as const satisfies Readonly<Record<string, () => UsageFold>>;
export type UsageWire = keyof typeof usageFolds;

/** Characters of one event. The closing event of the Responses API repeats the whole output; no output comes near. */
const maxEventLength = 8 * 1024 * 1024;

/** Meters the traffic of one exchange, or of several one after the other. */
export interface UsageMeter {
  /** Text of a server-sent event stream, cut anywhere. */
  stream(text: string): void;
  /** The stream ended or broke. */
  endStream(): void;
  /** An event that somebody has parsed already. */
  event(event: Json): void;
  /** A whole JSON answer. */
  body(body: Json): void;
  /** What is known now; complete once the provider said so itself. */
  responses(): ResponseUsage[];
  /** Whether the provider said that it did not serve; nothing is billed then. */
  refused(): boolean;
}

function feed(fold: UsageFold, data: string): void {
  if (data.trim() === '[DONE]') {
    fold.done();
    return;
  }
  const event = parseObject(data);
  if (event !== undefined) {
    fold.event(event);
    return;
  }
  // Two streams laid end to end glue a cut event to the next one's data: each line may still be whole.
  if (data.includes('\n')) for (const line of data.split('\n')) feed(fold, line);
  else {
    // Cut inside a line: a whole event at its end. No text inside an event can look so, for its quotes are escaped.
    const glued = parseObject(/^.+data: ?(?=\{")(.+)$/s.exec(data)?.[1] ?? '');
    if (glued !== undefined) fold.event(glued);
  }
}

/**
 * Pieces of text and arguments, nearly all of a stream, carry no usage: they are told by the event's name and not parsed.
 * Data of several lines may be a cut event with the next one's data glued to it.
 */
function saysNothing(event: string | undefined, data: string): boolean {
  if (event === undefined || !/^content_block_|^response\..*\.delta$/.test(event)) return false;
  // A name that does not fit its data must not hide what the data says.
  return !data.includes('\n') && !data.includes('usage');
}

/** Starts a meter for a wire form. */
export function createUsageMeter(wire: UsageWire): UsageMeter {
  const fold = usageFolds[wire]();
  let overflowed = false;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (!saysNothing(event, data)) feed(fold, data);
    },
    // The parser stops for good after an overflow; the stream then counts as cut.
    onError: (error) => {
      overflowed ||= error.type === 'max-buffer-size-exceeded';
    },
    maxBufferSize: maxEventLength,
  });
  return {
    stream: (text) => {
      if (!overflowed) parser.feed(text);
    },
    endStream: () => {
      // An event whose closing blank line was cut off may still be whole.
      if (!overflowed) parser.feed('\n\n');
      parser.reset();
      overflowed = false;
      fold.endStream();
    },
    event: (event) => fold.event(event),
    body: (body) => fold.body(body),
    responses: () => fold.responses(),
    refused: () => fold.refused(),
  };
}
