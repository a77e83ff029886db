import { createParser } from 'eventsource-parser';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createMessageDraft } from './message-draft.ts';
import type { DraftChange, ModelMessage } from './message-draft.ts';
import { parseMessageEvent } from './message-event.ts';

/** A line of the stream longer than this is no message of ours. */
const maxBufferSize = 8 * 1024 * 1024;

/**
 * Reads a streamed answer to its end.
 * @param onChange is awaited, so that a full journal slows the model down instead of filling memory
 * @throws CodedError `provider_failed` when the stream was cut, broke the wire's rules or told of an error
 */
export async function readMessage(
  body: AsyncIterable<Uint8Array>,
  onChange: (change: Exclude<DraftChange, null>) => Promise<void>,
): Promise<ModelMessage> {
  const decoder = new TextDecoder();
  const draft = createMessageDraft();
  const data: string[] = [];
  const parser = createParser({
    maxBufferSize,
    onEvent: (event) => data.push(event.data),
    onError: (error) => {
      // Fields that nobody knows are to be skipped, as the wire's rules ask.
      if (error.type === 'max-buffer-size-exceeded') throw streamFault(error.message);
    },
  });
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    for (const each of data.splice(0)) {
      const change = take(draft, each);
      if (change !== null) await onChange(change);
    }
  }
  const message = draft.message();
  if (message === null) throw streamFault('it was cut before its end');
  return message;
}

function take(draft: ReturnType<typeof createMessageDraft>, data: string): DraftChange {
  try {
    const event = parseMessageEvent(data);
    if (event?.type === 'error') throw streamFault(`${event.error.type}: ${event.error.message}`);
    return event === null ? null : draft.add(event);
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw streamFault((error as Error).message, error);
  }
}

function streamFault(why: string, cause?: unknown): CodedError {
  return new CodedError(
    'provider_failed',
    `The model's answer could not be used: ${why}.`,
    { retryable: true },
    cause,
  );
}
