import { heartbeatAnswerSchema, serverStatusSchema } from '@lemniscate/shared/protocol/server-status.ts';
import { takeHeartbeat } from '../application/servers/take-heartbeat.ts';
import type { HeartbeatDeps } from '../application/servers/take-heartbeat.ts';
import type { App } from './app.ts';
import { serverOf } from './identity.ts';

/** Internal listener: agent servers report on themselves and have their leases renewed. */
export function registerHeartbeatRoutes(app: App, deps: HeartbeatDeps): void {
  app.post(
    '/internal/servers/heartbeat',
    { schema: { body: serverStatusSchema, response: { 200: heartbeatAnswerSchema } } },
    (request) => takeHeartbeat(deps, serverOf(request).serverId, request.body),
  );
}
