import { z } from 'zod';
import { changeQueueSettingsSchema, queueSettingsSchema } from '@lemniscate/shared/api/queue.ts';
import type { QueueSettings } from '@lemniscate/shared/api/queue.ts';
import { changeQueueSettings, readQueueSettings } from '../application/projects/queue-settings.ts';
import type { QueueSettingsDeps } from '../application/projects/queue-settings.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { contentEtagOf, readSeenContent } from './versions.ts';

export type QueueRouteDeps = QueueSettingsDeps;

const projectParams = z.object({ id: z.string().min(1).max(128) });

/** Public listener: how a project's sessions queue. */
export function registerQueueRoutes(app: App, deps: QueueRouteDeps): void {
  app.get(
    '/v1/projects/:id/queue',
    { schema: { params: projectParams, response: { 200: queueSettingsSchema } } },
    async (request, reply) => {
      const settings = await readQueueSettings(deps.database, request.params.id);
      void reply.header('etag', contentEtagOf(settings));
      return settings;
    },
  );

  app.put(
    '/v1/projects/:id/queue',
    {
      schema: {
        params: projectParams,
        body: changeQueueSettingsSchema,
        response: { 200: queueSettingsSchema },
      },
    },
    async (request, reply) => {
      const seen = readSeenContent(request, 'queue settings');
      const change = given(request.body);
      const settings = await changeQueueSettings(deps, personOf(request), request.params.id, change, seen);
      void reply.header('etag', contentEtagOf(settings));
      return settings;
    },
  );
}

/** Without the members that were left out: those must not overwrite what is there. */
function given(body: z.output<typeof changeQueueSettingsSchema>): Partial<QueueSettings> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
