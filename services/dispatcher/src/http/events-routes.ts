import { z } from 'zod';
import { eventBatchAnswerSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { followSession } from '../application/events/follow-session.ts';
import type { FollowDeps } from '../application/events/follow-session.ts';
import { ingestBatch } from '../application/events/ingest-batch.ts';
import type { IngestDeps } from '../application/events/ingest-batch.ts';
import { batchBodyLimit } from '../application/events/read-batch.ts';
import { unknownSession } from '../application/sessions/session-row.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';
import { writeEventStream } from './event-stream.ts';
import type { StreamMessage } from './event-stream.ts';
import { sessionParams } from './session-routes.ts';

/** Internal listener: agent servers hand in their journals. */
export function registerEventIngestRoutes(app: App, deps: IngestDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/events',
    {
      bodyLimit: batchBodyLimit,
      schema: { params: attemptParams, response: { 200: eventBatchAnswerSchema } },
    },
    (request) => ingestBatch(deps, claimOf(request, request.params), request.body),
  );
}

const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const streamOptions = { heartbeatMs: 10_000, stallMs: 60_000 } as const;

/** Public listener: a session's events as they happen. */
export function registerEventStreamRoutes(app: App, deps: FollowDeps): void {
  app.get(
    '/v1/sessions/:id/events',
    {
      schema: {
        params: sessionParams,
        querystring: z.object({ after: position.default(0) }),
        // A reader that reconnects repeats its address and adds this header: it is the newer word.
        headers: z.object({ 'last-event-id': position.optional() }),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const [known] = await deps.database.query('SELECT 1 FROM sessions WHERE id = $1', [id]);
      if (known === undefined) throw unknownSession(id);
      const after = request.headers['last-event-id'] ?? request.query.after;
      const gone = new AbortController();
      reply.hijack();
      // The status is out: whatever happens now ends the stream, and the reader resumes.
      await writeEventStream(
        reply.raw,
        messages(followSession(deps, id, after, gone.signal)),
        gone,
        streamOptions,
      ).catch((error: unknown) => deps.log.warn({ err: error, session: id }, 'a live stream was cut'));
    },
  );
}

async function* messages(events: AsyncIterable<PositionedEvent>): AsyncGenerator<StreamMessage> {
  for await (const event of events) yield { id: event.position, event: 'session', data: event };
}
