import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import type { SessionDesk } from './sessions/session-desk.ts';

/** What an agent server says of itself. */
export function serverMetrics(
  status: ServerStatus,
  desk: Pick<SessionDesk, 'backlog' | 'leasesLost'>,
): readonly MetricFamily[] {
  const { events, bytes } = desk.backlog();
  const values: readonly (readonly [MetricFamily['name'], number | undefined])[] = [
    ['lemniscate_server_slots', status.capacity],
    ['lemniscate_server_sessions', status.held.length],
    ['lemniscate_server_warm_sandboxes', status.warm],
    ['lemniscate_server_cold_starts_total', status.coldStarts],
    ['lemniscate_server_leases_lost_total', desk.leasesLost()],
    ['lemniscate_server_journal_events', events],
    ['lemniscate_server_journal_bytes', bytes],
    ['lemniscate_server_disk_free_bytes', status.disk?.freeBytes],
    ['lemniscate_server_disk_bytes', status.disk?.totalBytes],
    ['lemniscate_server_draining', status.draining ? 1 : 0],
    ['lemniscate_server_unhealthy', status.unhealthy === undefined ? 0 : 1],
  ];
  return values.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, points: [{ labels: {}, value }] }],
  );
}
