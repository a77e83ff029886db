import { isIP } from 'node:net';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { egressRefusals } from '@lemniscate/shared/protocol/session-event.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { AttemptClaim } from './live-attempt.ts';

/** Entries of the session's chain for each connection that its sandbox made or tried, and for its end. */
export function egressEntries(claim: AttemptClaim, events: readonly ServerEvent[]): AuditDraft[] {
  const common = {
    subject: serviceUri('agent-server', claim.serverId),
    attempt: claim.attempt,
    server: claim.serverId,
  };
  return events.flatMap((event): AuditDraft[] => {
    if (event.type !== 'egress') return [];
    const host = isHostName(event.host) ? event.host : 'unreadable';
    if (event.outcome === 'closed') {
      const { port, sentBytes = 0, receivedBytes = 0, durationMs = 0 } = event;
      const body = { host, port, sentBytes, receivedBytes, durationMs };
      return [{ ...common, type: 'egress.closed', body }];
    }
    return event.outcome === 'connected'
      ? [{ ...common, type: 'egress.connected', body: { host, port: event.port } }]
      : [
          {
            ...common,
            type: 'egress.refused',
            body: { host, port: event.port, reason: reasonOf(event.why) },
          },
        ];
  });
}

/** A server's own words are no reason of the log's. */
const reasonOf = (why: string | undefined): string =>
  egressRefusals.find((known) => known === why) ?? 'other';

/** The sandbox writes what it likes where a host belongs: what no name server would be asked for is not told. */
const isHostName = (host: string): boolean => hostName.test(host) || isIP(host) !== 0;
const hostName =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i;
