import { z } from 'zod';
import { sessionFacetsSchema, sessionRowsSchema } from '@lemniscate/shared/api/session-row.ts';
import { sessionStates } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { Log } from '../application/ports/log.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import { countFacets, listRows } from '../application/sessions/session-rows.ts';
import type { RowWatch } from '../application/sessions/watch-rows.ts';
import { projectsSeenBy } from '../application/identity.ts';
import type { Person } from '../application/identity.ts';
import type { App } from './app.ts';
import { writeEventStream } from './event-stream.ts';
import type { StreamMessage } from './event-stream.ts';
import { personOf } from './identity.ts';

export interface SessionRowsDeps {
  readonly database: Transaction;
  readonly rowWatch: RowWatch;
  readonly log: Log;
}

const isState = (word: string): word is SessionState => (sessionStates as readonly string[]).includes(word);

const filterSchema = z.object({
  search: z.string().max(200).optional(),
  /** States, separated by commas. */
  states: z
    .string()
    .max(200)
    .transform((text) => text.split(',').filter((word) => word !== ''))
    .refine((words) => words.every(isState), `must be of ${sessionStates.join(', ')}, with commas between`)
    .transform((words) => words.filter(isState))
    .optional(),
  project: z.string().max(128).optional(),
  openedBy: z.string().max(256).optional(),
});

const streamOptions = { heartbeatMs: 10_000, stallMs: 60_000 } as const;
const moment = z.coerce.number().int().min(0).max(8.64e15);

type Filter = z.output<typeof filterSchema>;
const filterOf = (query: Filter, person: Person) => ({ ...query, seen: projectsSeenBy(person) });

async function* messages(
  watch: RowWatch,
  seen: readonly string[] | null,
  since: number | null,
  gone: AbortController,
): AsyncGenerator<StreamMessage> {
  for await (const { at, rows } of watch.follow(seen, since, gone.signal))
    yield { id: at, event: 'rows', data: { rows } };
}

/** Public listener: sessions as a list of thousands shows them, and their changes as they happen. */
export function registerSessionRowsRoutes(app: App, deps: SessionRowsDeps): void {
  app.get(
    '/v1/session-rows',
    {
      schema: {
        querystring: filterSchema.extend({
          cursor: z.string().max(128).optional(),
          limit: z.coerce.number().int().min(1).max(1_000).default(100),
        }),
        response: { 200: sessionRowsSchema },
      },
    },
    (request) => listRows(deps.database, filterOf(request.query, personOf(request)), request.query),
  );

  app.get(
    '/v1/session-facets',
    { schema: { querystring: filterSchema, response: { 200: sessionFacetsSchema } } },
    (request) => countFacets(deps.database, filterOf(request.query, personOf(request))),
  );

  app.get(
    '/v1/session-rows/events',
    { schema: { headers: z.object({ 'last-event-id': moment.optional() }) } },
    async (request, reply) => {
      const seen = projectsSeenBy(personOf(request));
      const since = request.headers['last-event-id'] ?? null;
      const gone = new AbortController();
      reply.hijack();
      await writeEventStream(
        reply.raw,
        messages(deps.rowWatch, seen, since, gone),
        gone,
        streamOptions,
      ).catch((error: unknown) => deps.log.warn({ err: error }, 'a stream of the list was cut'));
    },
  );
}
