import { createApi } from '@lemniscate/api/client.ts';

/** A problem document of the API, as RFC 9457 has it. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
}

/** What is thrown for an answer that is none, or for no answer at all (status 0). */
export type ApiError = Error & { readonly problem: Problem };

export function isApiError(error: unknown): error is ApiError {
  return error instanceof Error && 'problem' in error;
}

/** No answer for so long is a fault that a person wants to see. Milliseconds. */
const patienceMs = 20_000;

/** The public API with the browser's cookie; whatever is no success is thrown as an ApiError. */
export const api = createApi({ url: location.origin, send });

async function send(request: Request): Promise<Response> {
  const signal = AbortSignal.any([AbortSignal.timeout(patienceMs), request.signal]);
  const answer = await fetch(request, { signal }).catch((error: unknown) => {
    if (request.signal.aborted) throw error;
    throw apiError({
      status: 0,
      code: 'unreachable',
      title: 'No answer',
      detail: 'The dispatcher does not answer. It may be starting again; this page goes on when it is back.',
    });
  });
  if (answer.ok) return answer;
  throw apiError(await readProblem(answer));
}

async function readProblem(answer: Response): Promise<Problem> {
  const fallback = {
    status: answer.status,
    code: 'internal',
    title: 'Unexpected answer',
    detail: `The answer was ${answer.status}.`,
  };
  const read = (await answer.json().catch(() => ({}))) as Partial<Problem>;
  return { ...fallback, ...read, status: answer.status };
}

function apiError(problem: Problem): ApiError {
  return Object.assign(new Error(problem.detail), { problem });
}

/** A query string of what is set. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
