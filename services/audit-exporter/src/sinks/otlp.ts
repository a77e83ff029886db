import { identityOf } from '@lemniscate/shared/audit/outgoing-event.ts';
import { mappingOf } from '@lemniscate/shared/audit/receiver-mapping.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { z } from 'zod';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, jsonOf, outcomeOf } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

export interface OtlpOptions {
  /** Collector, without `/v1/logs`. */
  readonly url: string;
  readonly token?: Secret | undefined;
  readonly caFile?: string | undefined;
}

const answerSchema = z.looseObject({
  partialSuccess: z
    .looseObject({
      // JSON has 64-bit numbers as strings
      rejectedLogRecords: z.coerce.number().default(0),
      errorMessage: z.string().default(''),
    })
    .optional(),
});

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** OTLP logs, JSON encoding. A partial success must not be sent again, and does not say which records it means. */
export function createOtlpSink({ url, token, caFile }: OtlpOptions): Sink {
  const client = createHttpClient(url, caFile);
  return createReceiverSink({
    kind: 'otlp',
    place: url,
    mostBytes: 1_000_000,
    encode: (event) => {
      const { name, severity } = mappingOf(event.type);
      const nanoseconds = `${Date.parse(event.at)}000000`;
      return JSON.stringify({
        timeUnixNano: nanoseconds,
        observedTimeUnixNano: nanoseconds,
        severityNumber: severity <= 4 ? 9 : severity <= 6 ? 13 : 17,
        severityText: severity <= 4 ? 'INFO' : severity <= 6 ? 'WARN' : 'ERROR',
        eventName: event.type,
        body: { stringValue: name },
        attributes: [
          text('log.record.uid', event.id),
          text('enduser.id', event.subject),
          text('lemniscate.audit.identity', identityOf(event)),
          ...(event.server === null ? [] : [text('host.name', event.server)]),
          ...Object.entries(event.integrity).map(([key, value]) => text(`lemniscate.audit.${key}`, value)),
          text('lemniscate.audit.body', JSON.stringify(event.body)),
        ],
      });
    },
    send: async (events, signal) => {
      const headers = {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      };
      const scope = `{"scope":{"name":"lemniscate.audit"},"logRecords":[${events.join(',')}]}`;
      const resource = JSON.stringify({ attributes: [text('service.name', 'lemniscate')] });
      const body = `{"resourceLogs":[{"resource":${resource},"scopeLogs":[${scope}]}]}`;
      const answer = await client.post('/v1/logs', headers, body, signal);
      if (outcomeOf(answer, url) !== 'kept') return { kept: false, reason: `answered ${answer.status}` };
      const partial = answerSchema.safeParse(jsonOf(answer)).data?.partialSuccess;
      const rejected = partial?.rejectedLogRecords ?? 0;
      if (rejected === 0) return { kept: true, refused: [] };
      // which ones it does not say; one mark for the request, since sending again is forbidden
      const reason = `partial success: ${rejected} of the ${events.length} records from here on were rejected`;
      if (rejected >= events.length)
        return { kept: true, refused: events.map((_, place) => ({ place, reason: 'rejected' })) };
      return { kept: true, refused: [{ place: 0, reason }] };
    },
    close: client.close,
  });
}
