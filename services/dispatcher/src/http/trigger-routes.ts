import { z } from 'zod';
import { projectIdSchema } from '@lemniscate/shared/api/project.ts';
import {
  createTriggerSchema,
  takenEventSchema,
  triedTriggerSchema,
  triggerDefinitionSchema,
  triggerIdSchema,
  triggerListSchema,
  triggerViewSchema,
  tryTriggerSchema,
} from '@lemniscate/shared/api/trigger.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { cloudEventSchema } from '@lemniscate/shared/triggers/cloud-event.ts';
import { isBinaryEvent, readBinaryEvent } from '@lemniscate/shared/triggers/cloud-event-headers.ts';
import { unmatched } from '@lemniscate/shared/triggers/event-filter.ts';
import { localProject } from '../application/projects/project.ts';
import { nextSlots } from '../application/triggers/schedule.ts';
import { takeEvent } from '../application/triggers/take-event.ts';
import type { EventDeps } from '../application/triggers/take-event.ts';
import { findTrigger, listTriggers, toTriggerView } from '../application/triggers/trigger-row.ts';
import { changeTrigger, createTrigger, removeTrigger } from '../application/triggers/write-trigger.ts';
import type { TriggerDeps } from '../application/triggers/write-trigger.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { filterSchema } from './object-routes.ts';
import { requireHarmless } from './refuse-poison.ts';
import { etagOf, readIfMatch } from './versions.ts';

/** An event as one JSON document (structured content mode). */
const structuredEventType = 'application/cloudevents+json';
const triggerParams = z.object({ trigger: triggerIdSchema });

export type TriggerRouteDeps = TriggerDeps & EventDeps;

/** Public listener: schedules and filters that start sessions, and the events that they are set off by. */
export function registerTriggerRoutes(app: App, deps: TriggerRouteDeps): void {
  app.get(
    '/v1/triggers',
    { schema: { querystring: z.object({ project: filterSchema }), response: { 200: triggerListSchema } } },
    async (request) => {
      const rows = await listTriggers(deps.database, personOf(request), request.query.project ?? null);
      return { triggers: rows.map(toTriggerView) };
    },
  );

  app.post(
    '/v1/triggers',
    { schema: { body: createTriggerSchema, response: { 201: triggerViewSchema } } },
    async (request, reply) => {
      const { project, definition } = request.body;
      const row = await createTrigger(deps, personOf(request), project, definition);
      void reply.header('etag', etagOf(row.version));
      return reply.code(201).send(toTriggerView(row));
    },
  );

  app.get(
    '/v1/triggers/:trigger',
    { schema: { params: triggerParams, response: { 200: triggerViewSchema } } },
    async (request, reply) => {
      const row = await findTrigger(deps.database, personOf(request), request.params.trigger);
      void reply.header('etag', etagOf(row.version));
      return toTriggerView(row);
    },
  );

  app.put(
    '/v1/triggers/:trigger',
    {
      schema: { params: triggerParams, body: triggerDefinitionSchema, response: { 200: triggerViewSchema } },
    },
    async (request, reply) => {
      const seen = readIfMatch(request, 'trigger');
      const change = { definition: request.body, seen };
      const row = await changeTrigger(deps, personOf(request), request.params.trigger, change);
      void reply.header('etag', etagOf(row.version));
      return toTriggerView(row);
    },
  );

  app.delete('/v1/triggers/:trigger', { schema: { params: triggerParams } }, async (request, reply) => {
    const seen = readIfMatch(request, 'trigger');
    await removeTrigger(deps, personOf(request), request.params.trigger, seen);
    return reply.code(204).send();
  });
  registerEventRoutes(app, deps);
}

function registerEventRoutes(app: App, deps: TriggerRouteDeps): void {
  app.post(
    '/v1/triggers/try',
    { schema: { body: tryTriggerSchema, response: { 200: triedTriggerSchema } } },
    ({ body: { when, event } }) => {
      if (when.kind === 'cron') {
        const next = nextSlots(when, deps.clock.now(), 5).map((slot) => slot.toISOString());
        return { matches: null, unmatched: [], next };
      }
      if (event === undefined)
        throw new CodedError('request_invalid', 'Filters are tried on an event: send one as "event".');
      const failing = unmatched(event, when.filters);
      return { matches: failing.length === 0, unmatched: failing, next: [] };
    },
  );

  // In a scope of its own: no other route takes this media type.
  app.register(async (scope: App) => {
    const parseJson = scope.getDefaultJsonParser('error', 'error');
    scope.addContentTypeParser(structuredEventType, { parseAs: 'string' }, parseJson);
    scope.post(
      '/v1/events',
      {
        preValidation: async (request) => {
          if (!isBinaryEvent(request.headers)) return;
          const event = readBinaryEvent(request.headers, request.body);
          requireHarmless('event', event);
          // Not yet what the schema says: that is checked next.
          Object.assign(request, { body: event });
        },
        schema: {
          querystring: z.object({ project: projectIdSchema.default(localProject) }),
          body: cloudEventSchema,
          response: { 202: takenEventSchema },
        },
      },
      async (request, reply) =>
        reply.code(202).send(await takeEvent(deps, personOf(request), request.query.project, request.body)),
    );
  });
}
