import { z } from 'zod';
import { serverEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { harmless } from './harmless.ts';

/** Longest body of a batch. Bytes. */
export const batchBodyLimit = 4 * 1024 * 1024;

// The frame is strict and the events are not: see `readEvent`.
const frameSchema = z.object({
  firstSeq: z.int().min(1),
  events: z
    .array(z.object({ at: z.string().max(64), event: z.unknown() }))
    .min(1)
    .max(1000),
});

/** One reported event with its number within the attempt. */
export interface NumberedEvent {
  readonly seq: number;
  readonly at: string;
  readonly event: ServerEvent;
}

/**
 * Reads a batch of `eventBatchSchema`. An event that cannot be read keeps its number and becomes a notice that says so:
 * refusing the batch would make its journal send it for ever. Secrets in it are replaced here, before anybody is shown it
 * or it is stored; one that is cut in two by the bounds of two events is not seen.
 * @throws CodedError `request_invalid` when the frame itself cannot be read
 */
export function readBatch(body: unknown, now: Date): NumberedEvent[] {
  const frame = frameSchema.safeParse(body);
  if (!frame.success)
    throw new CodedError('request_invalid', `The batch cannot be read: ${z.prettifyError(frame.error)}`);
  return frame.data.events.map(({ at, event }, index) => ({
    seq: frame.data.firstSeq + index,
    at: readTime(at, now),
    event: withoutSecrets(harmless(readEvent(event))),
  }));
}

/** Members that hold words; ids stay what they are, for other rows are found by them. */
const words: readonly string[] = ['text', 'title', 'message', 'preview', 'oldText', 'newText'];

function withoutSecrets(event: ServerEvent): ServerEvent {
  const redacted = Object.entries(event).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' && words.includes(name) ? redactSecrets(value) : value,
  ]);
  return Object.fromEntries(redacted) as ServerEvent;
}

function readEvent(value: unknown): ServerEvent {
  const parsed = serverEventSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.join('.') || 'event'}: ${issue.message}`)
    .join('; ');
  return {
    type: 'notice',
    text: `An event of the agent server could not be read (${where}).`.slice(0, 4096),
  };
}

/** The server's clock is believed up to a minute ahead of ours; an unreadable time is replaced. */
function readTime(text: string, now: Date): string {
  const time = Date.parse(text);
  const isPlausible = time > 0 && time <= now.getTime() + 60_000;
  return (isPlausible ? new Date(time) : now).toISOString();
}
