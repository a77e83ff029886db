import { readFileSync } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readAtMost } from '@lemniscate/shared/read-at-most.ts';
import { Agent, request } from 'undici';

/** Longest answer that is read: a bulk answer for 500 entries is some 100 KB. */
const mostAnswerBytes = 4 * 1024 * 1024;

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** A way to one receiver. */
export interface HttpClient {
  post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/**
 * @param base where paths begin
 * @param caFile certificates to trust instead of the system's
 */
export function createHttpClient(base: string, caFile?: string): HttpClient {
  let agent: Agent | null = null;
  const open = (): Agent =>
    new Agent({
      connections: 2,
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
      connect: { timeout: 5_000, ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }) },
    });
  return {
    post: async (path, headers, body, signal) => {
      agent ??= open();
      const url = `${base.replace(/\/$/, '')}${path}`;
      const answer = await request(url, { method: 'POST', headers, body, signal, dispatcher: agent });
      return { status: answer.statusCode, text: await readAtMost(answer.body, mostAnswerBytes) };
    },
    close: async () => {
      const closing = agent;
      agent = null;
      await closing?.destroy();
    },
  };
}

/** What a status means for what was sent. */
export type Outcome = 'kept' | 'too_large' | 'refused';

/**
 * Reads a status as all HTTP receivers mean it. 400 and 422 blame what was sent; what else is not 2xx or 413 blames the
 * receiver or the way there, and is thrown so that it is tried again.
 * @throws CodedError `forbidden` for 401 and 403, `service_unreachable` for the rest
 */
export function outcomeOf({ status }: HttpAnswer, place: string): Outcome {
  if (status >= 200 && status < 300) return 'kept';
  if (status === 413) return 'too_large';
  if (status === 400 || status === 422) return 'refused';
  if (status === 401 || status === 403)
    throw new CodedError(
      'forbidden',
      `The audit receiver ${place} refuses our credentials (${status}). Nothing is shipped there until they are put right; ` +
        'nothing is lost meanwhile.',
      { status },
    );
  throw new CodedError('service_unreachable', `The audit receiver ${place} answered ${status}.`, { status });
}

/** The answer's JSON; null where it is none. */
export function jsonOf({ text }: HttpAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // a proxy's page instead of an answer: the caller says what it wanted
    return null;
  }
}
