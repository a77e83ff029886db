import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { logPage } from '../application/events/log-page.ts';
import type { Segments } from '../application/events/segments.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import { searchLog } from '../application/events/search-log.ts';
import type { App } from './app.ts';
import { sessionParams } from './session-routes.ts';

const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const pageSchema = z.object({
  events: z.array(positionedEventSchema),
  /** Where to go on; null when there is nothing after this page at present. */
  nextAfter: z.number().nullable(),
  /** Where to go on backwards; null at the beginning. */
  nextBefore: z.number().nullable(),
});

/** Public listener: a session's log in pages, forwards or backwards. */
export function registerLogRoutes(
  app: App,
  deps: { readonly database: Transaction; readonly segments: Segments },
): void {
  app.get(
    '/v1/sessions/:id/log',
    {
      schema: {
        params: sessionParams,
        querystring: z.object({
          after: position.optional(),
          before: position.optional(),
          /** Only events that hold this text, upper and lower case alike; forwards. */
          search: z.string().min(1).max(200).optional(),
          limit: z.coerce.number().int().min(1).max(256).default(100),
        }),
        response: { 200: pageSchema },
      },
    },
    async (request) => {
      const { after, before, search, limit } = request.query;
      if (after !== undefined && before !== undefined)
        throw new CodedError('request_invalid', 'Give either after or before, not both.');
      if (search !== undefined) {
        if (before !== undefined)
          throw new CodedError('request_invalid', 'A search goes forwards: give after, not before.');
        return searchLog(deps, request.params.id, { text: search, after: after ?? 0, limit });
      }
      const range = before === undefined ? { after: after ?? 0 } : { before };
      const page = await logPage(deps, request.params.id, range, limit);
      return { ...page, events: [...page.events] };
    },
  );
}
