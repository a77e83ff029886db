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

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly text?: { readonly body: string; readonly type: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** No answer for so long is a fault that a person wants to see. Milliseconds. */
const patienceMs = 20_000;

/**
 * Asks the public API with the browser's cookie.
 * @throws ApiError
 */
export async function api<Answer>(path: string, request: ApiRequest = {}): Promise<Answer> {
  const answer = await send(path, request);
  if (answer.status === 204) return undefined as Answer;
  return (await answer.json()) as Answer;
}

async function send(path: string, request: ApiRequest): Promise<Response> {
  const body = request.text?.body ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const type = request.text?.type ?? 'application/json';
  const deadline = AbortSignal.timeout(patienceMs);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
  const answer = await fetch(path, {
    method: request.method ?? 'GET',
    credentials: 'same-origin',
    headers: { ...(body === undefined ? {} : { 'content-type': type }), ...request.headers },
    ...(body === undefined ? {} : { body }),
    signal,
  }).catch((error: unknown) => {
    if (request.signal?.aborted === true) throw error;
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
