import { lookup as resolve } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Agent, fetch as undiciFetch } from 'undici';
import type { RequestInit as UndiciRequestInit } from 'undici';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isPublicAddress } from '../../domain/public-address.ts';
import { boundedAnswer } from './bounded-answer.ts';

export interface GuardedFetchOptions {
  /** `host` or `host:port` that may be on a private network, and be spoken to without TLS. */
  readonly privateHosts: readonly string[];
  /** Of one answer. */
  readonly maxBytes: number;
}

/** Asks addresses that others have chosen. */
export interface GuardedFetch {
  /** @param onBroken is told when an answer is cut at its bound: not every reader of a body notices */
  readonly fetch: (
    url: string | URL,
    init?: RequestInit,
    onBroken?: (error: CodedError) => void,
  ) => Promise<Response>;
  close(): Promise<void>;
}

/**
 * A `fetch` for addresses that an agent's author or another server names. The address that is connected to is the one
 * that was checked, so a name cannot lead somewhere else the second time; redirects are not followed; an answer ends at
 * its bound.
 */
export function createGuardedFetch({ privateHosts, maxBytes }: GuardedFetchOptions): GuardedFetch {
  const open = new Agent({ connect: { timeout: 5_000 }, keepAliveTimeout: 1_000 });
  const guarded = new Agent({ connect: { timeout: 5_000, lookup: publicOnly }, keepAliveTimeout: 1_000 });
  const isPrivateHost = ({ host, hostname }: URL): boolean =>
    privateHosts.includes(host) || privateHosts.includes(hostname);
  return {
    fetch: async (address, init, onBroken) => {
      const url = new URL(address);
      const own = isPrivateHost(url);
      if (!own) refusePrivate(url);
      const answer = await undiciFetch(url, {
        ...(init as UndiciRequestInit | undefined),
        dispatcher: own ? open : guarded,
        redirect: 'manual',
      });
      if (answer.status >= 300 && answer.status < 400 && answer.status !== 304) {
        await answer.body?.cancel();
        throw new CodedError('service_unreachable', `${url.host} redirects; redirects are not followed.`);
      }
      return boundedAnswer(answer, url.host, maxBytes, onBroken);
    },
    close: async () => {
      await Promise.all([open.destroy(), guarded.destroy()]);
    },
  };
}

function refusePrivate(url: URL): void {
  if (url.protocol !== 'https:')
    throw new CodedError('forbidden', `${url.host} has to be reached over https.`, { host: url.host });
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && !isPublicAddress(literal)) throw notPublic(url.hostname);
}

function notPublic(host: string): CodedError {
  return new CodedError(
    'forbidden',
    `${host} is not an address of the public internet. An operator can name it in LEMNISCATE_MCP_PRIVATE_HOSTS.`,
    { host },
  );
}

/** Resolves a name, and gives only addresses of the public internet to connect to. */
const publicOnly: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    const found = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = found;
    // One private address among them is no accident.
    if (first === undefined || found.length < addresses.length) return callback(notPublic(hostname), '', 0);
    if (options.all === true) return callback(null, found);
    callback(null, first.address, first.family);
  });
};
