import type { JsonObject } from '@lemniscate/shared/json.ts';
import { cut } from '../../text-stream.ts';

/** Longest words about a call. Characters. */
const aboutLength = 2000;

/** A call in one line, for the program that made it. */
export function aboutCall(tool: string, input: JsonObject): string {
  return cut(`${tool} ${JSON.stringify(input)}`, aboutLength).toWellFormed();
}
