import type { Dispatcher as UndiciDispatcher } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import { readAtMost } from '@lemniscate/shared/read-at-most.ts';
import { noAnswer } from '../application/no-answer.ts';

/** Posts JSON and reads the answer. A Buffer goes as it is. @throws CodedError; the caller's signal's reason */
export type JsonCaller = (
  path: string,
  body: unknown,
  deadlineMs: number,
  signal: AbortSignal,
  /** `traceparent` of what asks; null where nothing is traced. */
  trace?: string | null,
) => Promise<unknown>;

/** An answer longer than this is not the dispatcher's. */
const maxAnswerBytes = 16 * 1024 * 1024;

const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' };

export function createJsonCaller(agent: UndiciDispatcher, origin: string): JsonCaller {
  return async (path, body, deadlineMs, signal, trace = null) => {
    const deadline = AbortSignal.timeout(deadlineMs);
    try {
      const answer = await agent.request({
        origin,
        path,
        method: 'POST',
        headers: trace === null ? jsonHeaders : { ...jsonHeaders, traceparent: trace },
        body: Buffer.isBuffer(body) ? body : JSON.stringify(body),
        signal: AbortSignal.any([signal, deadline]),
        headersTimeout: deadlineMs,
        bodyTimeout: deadlineMs,
      });
      const parsed = parse(await readAtMost(answer.body, maxAnswerBytes));
      if (answer.statusCode >= 200 && answer.statusCode < 300) return parsed;
      throw fromProblem(parsed, answer.statusCode);
    } catch (error) {
      signal.throwIfAborted();
      throw asUnreachable(origin, path, error);
    }
  };
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    // A proxy's page; without a problem document the status decides.
    return undefined;
  }
}

/** Whatever kept an answer from coming is one thing for callers: the dispatcher cannot be reached right now. */
export function asUnreachable(origin: string, path: string, error: unknown): CodedError {
  if (error instanceof CodedError && error.code !== 'certificate_refused') return error;
  const why = error instanceof Error ? error.message : String(error);
  return noAnswer(`The dispatcher at ${origin} gave no answer to ${path}: ${why}.`, error);
}
