import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as startRequest } from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates } from 'node:tls';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { pinHost } from '../fetch-host.ts';
import type { FetchHosts } from '../fetch-host.ts';

/** A server that says nothing for so long is given up. */
const silenceMs = 60_000;

export interface PinnedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Trusted as git trusts: what this machine trusts, unless an operator says what. */
async function authorities(file: string | undefined): Promise<string | string[]> {
  if (file !== undefined) return readFile(file, 'utf8');
  return [...getCACertificates('default'), ...getCACertificates('system')];
}

/** What was looked up and allowed is what is connected to. */
function only(address: string): LookupFunction {
  const family = isIP(address);
  return (_host, { all }, done) => {
    if (all === true) done(null, [{ address, family }]);
    else done(null, address, family);
  };
}

/**
 * Names the host of an error that has no code of ours: refused connections, certificates, streams that break.
 * @throws CodedError `large_file_missing`, or the reason of a stop
 */
export function unreachable(address: string, signal: AbortSignal, error: unknown): never {
  signal.throwIfAborted();
  if (isCodedError(error)) throw error;
  const why = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : undefined;
  throw new CodedError(
    'large_file_missing',
    `${new URL(address).host} does not give large files: ${why ?? 'no answer'}.`,
    {},
    error,
  );
}

/**
 * Asks an address that a git host named. https only; a host inside the server's networks is refused unless an operator
 * named it; redirects are not followed: the answer is the caller's to judge.
 * @throws CodedError `repository_source_refused`, `repository_missing`, `large_file_missing`
 */
export async function pinnedRequest(
  address: string,
  hosts: FetchHosts,
  { method, headers, body, signal }: PinnedRequest,
): Promise<IncomingMessage> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new CodedError(
      'repository_source_refused',
      `Large files are fetched over https only, and ${url === undefined ? 'their server named no address' : `not from ${url.protocol}//${url.host}`}.`,
    );
  const { address: pinned } = await pinHost(url.hostname, hosts);
  const asking = startRequest(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
    lookup: only(pinned),
    ca: await authorities(hosts.authorityFile),
    agent: false,
    signal,
  });
  asking.setTimeout(silenceMs, () =>
    asking.destroy(new Error(`${url.host} said nothing for ${silenceMs} ms`)),
  );
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asking.once('response', resolve);
  asking.on('error', reject);
  asking.end(body);
  return promise.catch((error: unknown) => unreachable(address, signal, error));
}

/**
 * The whole text of an answer.
 * @throws Error past the bound
 */
export async function readText(answer: IncomingMessage, maxBytes: number): Promise<string> {
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) answer.destroy(new Error(`the answer has more than ${maxBytes} bytes`));
  });
  return text(answer);
}
