import { CodedError } from '../errors/coded-error.ts';
import { toProblem } from '../errors/problem.ts';
import { asObject, asText } from './json-reading.ts';
import type { PriceBook } from './price-book.ts';
import { recordedCallSchema, replayCall } from './replay.ts';

/** The answer to one line, and whether the line could be read. */
export interface ReplayedLine {
  readonly text: string;
  readonly ok: boolean;
}

/** Characters of one line; a whole session's recording is a tenth of it. */
export const longestReplayLine = 64 * 1024 * 1024;

function parseLine(line: string | undefined): unknown {
  if (line === undefined) {
    throw new CodedError(
      'request_invalid',
      `The line is longer than ${longestReplayLine} characters. Give a long recording as several calls.`,
      { longest: longestReplayLine },
    );
  }
  try {
    // Some editors and shells begin a file with a byte order mark.
    return JSON.parse(line.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new CodedError('request_invalid', 'The line is not JSON. Write one JSON object a line.', {}, cause);
  }
}

/**
 * Replays one JSON line; a line that cannot be read is answered by `{id, error}` with a problem document.
 * @param line undefined for one that was longer than `longestReplayLine`
 */
export function replayLine(line: string | undefined, book: PriceBook): ReplayedLine {
  let id: string | null = null;
  try {
    const value = parseLine(line);
    id = asText(asObject(value)?.['id']);
    const call = recordedCallSchema.safeParse(value);
    if (!call.success) {
      const faults = call.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      throw new CodedError('request_invalid', `The call cannot be read. ${faults.join('; ')}.`, { faults });
    }
    return { text: JSON.stringify(replayCall(call.data, book)), ok: true };
  } catch (error) {
    return { text: JSON.stringify({ id, error: toProblem(error) }), ok: false };
  }
}
