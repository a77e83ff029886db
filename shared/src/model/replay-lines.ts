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

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new CodedError('request_invalid', 'The line is not JSON. Write one JSON object a line.', {}, cause);
  }
}

/** Replays one JSON line; a line that cannot be read is answered by `{id, error}` with a problem document. */
export function replayLine(line: string, book: PriceBook): ReplayedLine {
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
