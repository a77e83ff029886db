import { createApi } from '@lemniscate/api/client.ts';
import type { Api } from '@lemniscate/api/client.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import type { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import type { CommandIo } from './io.ts';

/** One request to the public API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  /** Sent as it is instead of `body`; `headers` name its type. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds; without it ten seconds. */
  readonly timeoutMs?: number;
}

/** The public API as the commands use it. */
export interface ApiClient {
  readonly url: string;
  /** Typed by the API's description; throws as `json` does. */
  readonly api: Api;
  /** The same with another deadline than ten seconds, for what takes longer. */
  patient(timeoutMs: number): Api;
  /** Sends and checks the answer's shape. @throws CodedError from the problem document, or `service_unreachable` */
  json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    request?: ApiRequest,
  ): Promise<z.infer<Schema>>;
  /** The open answer, for streams and raw bodies; the caller reads or cancels the body. */
  open(path: string, request?: ApiRequest): Promise<Response>;
}

const ordinaryTimeoutMs = 10_000;

/** Talks to one fleet with one login. */
export function createApiClient(endpoint: Endpoint, onAnswer?: CommandIo['onAnswer']): ApiClient {
  const send = async (request: Request, timeoutMs: number): Promise<Response> => {
    const { signal } = request;
    request.headers.set('authorization', `Bearer ${endpoint.token}`);
    const answer = await fetch(request, {
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]),
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      const message = `No answer from ${endpoint.url}. Is the fleet running? Start one with "npm start", or set LEMNISCATE_URL.`;
      throw new CodedError('service_unreachable', message, { url: endpoint.url }, error);
    });
    if (answer.ok) {
      await tell(answer, onAnswer);
      return answer;
    }
    const body: unknown = await answer.json().catch(() => undefined);
    throw fromProblem(body, answer.status);
  };
  const open = (path: string, request: ApiRequest = {}): Promise<Response> => {
    const { body, text = body === undefined ? undefined : JSON.stringify(body), signal } = request;
    const asked = new Request(new URL(path, endpoint.url), {
      method: request.method ?? 'GET',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...request.headers },
      ...(text === undefined ? {} : { body: text }),
      ...(signal === undefined ? {} : { signal }),
    });
    return send(asked, request.timeoutMs ?? ordinaryTimeoutMs);
  };
  const patient = (timeoutMs: number): Api =>
    createApi({ url: endpoint.url, send: (request) => send(request, timeoutMs) });
  return {
    url: endpoint.url,
    api: patient(ordinaryTimeoutMs),
    patient,
    open,
    async json(path, schema, request) {
      const answer = await open(path, request);
      const parsed = schema.safeParse(await answer.json());
      if (parsed.success) return parsed.data;
      throw new CodedError(
        'internal',
        `${path} answered in a shape that this client does not know; is it older?`,
      );
    },
  };
}

/** Lets JSON be heard; streams and files pass by. */
async function tell(answer: Response, onAnswer: CommandIo['onAnswer']): Promise<void> {
  if (onAnswer === undefined) return;
  if (answer.status === 204) onAnswer(undefined);
  else if (answer.headers.get('content-type')?.startsWith('application/json') === true)
    onAnswer(await answer.clone().json());
}
