import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import type { SessionDesk } from '../application/sessions/session-desk.ts';

/** What the routes need. */
export interface RouteDeps {
  readonly desk: SessionDesk;
  status(): ServerStatus;
  collectMetrics(): Promise<readonly MetricFamily[]>;
}
