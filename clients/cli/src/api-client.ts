import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import type { z } from 'zod';
import type { Endpoint } from './endpoint.ts';

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
  /** Sends and checks the answer's shape. @throws CodedError from the problem document, or `service_unreachable` */
  json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    request?: ApiRequest,
  ): Promise<z.infer<Schema>>;
  /** The open answer, for streams and raw bodies; the caller reads or cancels the body. */
  open(path: string, request?: ApiRequest): Promise<Response>;
}

/** Talks to one fleet with one login. */
export function createApiClient(endpoint: Endpoint): ApiClient {
  const open = async (path: string, request: ApiRequest = {}): Promise<Response> => {
    const url = new URL(path, endpoint.url);
    const deadline = AbortSignal.timeout(request.timeoutMs ?? 10_000);
    const signals = request.signal === undefined ? [deadline] : [deadline, request.signal];
    const answer = await fetch(url, {
      method: request.method ?? 'GET',
      headers: {
        authorization: `Bearer ${endpoint.token}`,
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...request.headers,
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...(request.text === undefined ? {} : { body: request.text }),
      signal: AbortSignal.any(signals),
    }).catch((error: unknown) => {
      request.signal?.throwIfAborted();
      const message = `No answer from ${endpoint.url}. Is the fleet running? Start one with "npm start", or set LEMNISCATE_URL.`;
      throw new CodedError('service_unreachable', message, { url: endpoint.url }, error);
    });
    if (answer.ok) return answer;
    const body: unknown = await answer.json().catch(() => undefined);
    throw fromProblem(body, answer.status);
  };
  return {
    url: endpoint.url,
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
