import type { ServerResponse } from 'node:http';
import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';

/** What the port itself refuses, before the gateway has heard of it. */
export type PortRefusal = 'not_found' | 'too_large' | 'no_room';

const statuses: Readonly<Record<PortRefusal, number>> = { not_found: 404, too_large: 413, no_room: 503 };

/** The APIs' own types; https://platform.claude.com/docs/en/api/errors and OpenAI's error codes guide. */
const types: Readonly<Record<'anthropic' | 'openai', Readonly<Record<PortRefusal, string>>>> = {
  anthropic: { not_found: 'not_found_error', too_large: 'request_too_large', no_room: 'overloaded_error' },
  openai: {
    not_found: 'invalid_request_error',
    too_large: 'invalid_request_error',
    no_room: 'server_error',
  },
};

/**
 * Answers in the shape of the API that the path belongs to; a path of neither in that of the program's own API, which is
 * the one that it can read.
 */
export function refuseAtPort(
  response: ServerResponse,
  { path, runtime }: { readonly path: string; readonly runtime: RuntimeName },
  kind: PortRefusal,
  message: string,
): void {
  const api = apiOf(path) ?? (runtime === 'codex' ? 'openai' : 'anthropic');
  const type = types[api][kind];
  const body =
    api === 'anthropic'
      ? { type: 'error', error: { type, message } }
      : { error: { type, message, code: null, param: null } };
  response.writeHead(statuses[kind], { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify(body));
}

function apiOf(path: string): 'anthropic' | 'openai' | null {
  if (/^\/v1\/messages(\/|$)/.test(path)) return 'anthropic';
  return /^\/v1\/(responses|chat)(\/|$)/.test(path) ? 'openai' : null;
}
