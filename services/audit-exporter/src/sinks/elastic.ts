import { plainRecord } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, jsonOf, outcomeOf } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

export interface ElasticOptions {
  readonly url: string;
  readonly index: string;
  /** Elastic API key, base64 of `id:key`. */
  readonly apiKey: Secret;
  readonly caFile?: string | undefined;
}

/** A name such as `document_parsing_exception`: it goes into the log, so a receiver's own words do not pass for one. */
const errorType = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/)
  .catch('refused');

const bulkSchema = z.looseObject({
  items: z.array(
    z.looseObject({
      create: z.looseObject({ status: z.int(), error: z.looseObject({ type: errorType }).optional() }),
    }),
  ),
});

/** Elastic's `_bulk` with `create`: 409 says that the entry is there already, and a 200 may hold refusals. */
export function createElasticSink({ url, index, apiKey, caFile }: ElasticOptions): Sink {
  const client = createHttpClient(url, caFile);
  return createReceiverSink({
    kind: 'elastic',
    place: `${url}/${index}`,
    mostBytes: 5_000_000,
    encode: (event) => {
      const document = { '@timestamp': event.at, ...(plainRecord(event) as Record<string, unknown>) };
      return `${JSON.stringify({ create: { _index: index, _id: event.id } })}\n${JSON.stringify(document)}`;
    },
    send: async (events, signal) => {
      const headers = {
        authorization: `ApiKey ${apiKey.reveal()}`,
        'content-type': 'application/x-ndjson',
      };
      const answer = await client.post('/_bulk', headers, `${events.join('\n')}\n`, signal);
      const outcome = outcomeOf(answer, url);
      if (outcome !== 'kept') return { kept: false, reason: `http_${answer.status}` };
      const items = bulkSchema.safeParse(jsonOf(answer)).data?.items ?? [];
      if (items.length !== events.length)
        throw new CodedError(
          'service_unreachable',
          `Elastic at ${url} answered for ${items.length} of ${events.length}.`,
        );
      const failed = items.flatMap(({ create }, place) =>
        create.status < 300 || create.status === 409 ? [] : [{ place, ...create }],
      );
      // too busy for one of them: the whole comes again, and those that are there answer 409
      const busy = failed.find(({ status }) => status !== 400);
      if (busy !== undefined)
        throw new CodedError(
          'service_unreachable',
          `Elastic at ${url} answered ${busy.status} for an entry.`,
        );
      const refused = failed.map(({ place, error }) => ({ place, reason: error?.type ?? 'refused' }));
      return { kept: true, refused };
    },
    close: client.close,
  });
}
