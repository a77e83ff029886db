import { lookup } from 'node:dns/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isPrivateAddress } from '../../domain/private-address.ts';

/** Which hosts the server may fetch repositories from, beyond those on the public internet. */
export interface FetchHosts {
  /** Host names inside the organisation's networks; `*` for all. */
  readonly privateHosts: readonly string[];
  /** Files that ssh uses: the server's key by reference, and the hosts that it trusts. */
  readonly ssh?: { readonly key?: string; readonly knownHosts?: string };
  /** PEM file of the authorities that https trusts; absent: the machine's. */
  readonly authorityFile?: string;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** A host with the one address that git is made to use, so that a name cannot mean another one a moment later. */
export interface PinnedHost {
  readonly host: string;
  readonly address: string;
}

const resolveAll = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/**
 * Looks a repository's host up and refuses addresses inside: a session's caller names the repository, and the server
 * stands in a network where a caller must not reach around. All addresses have to be public.
 * @throws CodedError `repository_source_refused`, `repository_missing` for a name that nobody knows
 */
export async function pinHost(
  host: string,
  { privateHosts, resolve = resolveAll }: FetchHosts,
): Promise<PinnedHost> {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const addresses = await resolve(name).catch((error: NodeJS.ErrnoException) => {
    throw new CodedError(
      'repository_missing',
      `The host ${name} of the repository is not known (${error.code ?? 'no answer'}).`,
    );
  });
  const [address] = addresses;
  if (address === undefined)
    throw new CodedError('repository_missing', `The host ${name} of the repository has no address.`);
  const known = privateHosts.includes('*') || privateHosts.includes(name);
  const inside = known ? undefined : addresses.find(isPrivateAddress);
  if (inside === undefined) return { host: name, address };
  throw new CodedError(
    'repository_source_refused',
    `${name} has the address ${inside}, which is not on the public internet. An operator allows the host with LEMNISCATE_FETCH_PRIVATE_HOSTS, or send the repository as a bundle.`,
    { host: name },
  );
}
