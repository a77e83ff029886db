import type { Clock } from '@lemniscate/shared/clock.ts';

/** An address that was read so long ago is read again. Milliseconds. */
const freshMs = 1_000;
/** Addresses kept; beyond it all are read anew. */
const most = 20_000;

/**
 * Addresses of servers, each read once for all that one act asks: whether a server can be called, and where. A server
 * that has moved meanwhile is not mistaken for another, since its certificate names it.
 */
export function rememberAddresses(
  find: (serverId: string) => Promise<string | null>,
  clock: Pick<Clock, 'monotonicMs'>,
): (serverId: string) => Promise<string | null> {
  const known = new Map<string, { readonly atMs: number; readonly address: Promise<string | null> }>();
  return (serverId) => {
    const nowMs = clock.monotonicMs();
    const before = known.get(serverId);
    if (before !== undefined && nowMs - before.atMs < freshMs) return before.address;
    if (known.size >= most) known.clear();
    const address = find(serverId);
    known.set(serverId, { atMs: nowMs, address });
    // A look that failed is nobody's answer but its asker's, and neither is one that found nothing yet.
    const forget = (): void => {
      if (known.get(serverId)?.address === address) known.delete(serverId);
    };
    address.then((found) => {
      if (found === null) forget();
    }, forget);
    return address;
  };
}
