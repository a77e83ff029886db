import { z } from 'zod';
import { deliveryPageSchema, deliveryStates } from '@lemniscate/shared/api/delivery.ts';
import {
  inboxItemIdSchema,
  inboxItemSchema,
  inboxKinds,
  inboxPageSchema,
  markInboxItemSchema,
} from '@lemniscate/shared/api/inbox.ts';
import { markItem, readInbox } from '../application/inbox/inbox.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import { listDeliveries } from '../application/triggers/list-deliveries.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { filterSchema, pageQuery } from './object-routes.ts';

/** Public listener: what waits for the caller, and what has asked for sessions. */
export function registerInboxRoutes(app: App, { database }: { readonly database: Transaction }): void {
  app.get(
    '/v1/inbox',
    {
      schema: {
        querystring: pageQuery.extend({
          show: z.enum(['open', 'unread', 'done', 'all']).default('open'),
          kind: z.enum(inboxKinds).optional(),
        }),
        response: { 200: inboxPageSchema },
      },
    },
    (request) => readInbox(database, personOf(request), request.query),
  );

  app.put(
    '/v1/inbox/:item',
    {
      schema: {
        params: z.object({ item: inboxItemIdSchema }),
        body: markInboxItemSchema,
        response: { 200: inboxItemSchema },
      },
    },
    (request) => markItem(database, personOf(request), request.params.item, request.body),
  );

  app.get(
    '/v1/deliveries',
    {
      schema: {
        querystring: pageQuery.extend({
          project: filterSchema,
          state: z.enum(deliveryStates).optional(),
          object: filterSchema,
          trigger: filterSchema,
        }),
        response: { 200: deliveryPageSchema },
      },
    },
    (request) => listDeliveries(database, personOf(request), request.query),
  );
}
