import { identityOf } from '@lemniscate/shared/audit/outgoing-event.ts';
import { mappingOf } from '@lemniscate/shared/audit/receiver-mapping.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, jsonOf, outcomeOf } from './http/post.ts';
import type { HttpAnswer } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

export interface OtlpOptions {
  /** Collector, without `/v1/logs`. */
  readonly url: string;
  readonly token?: Secret | undefined;
  readonly caFile?: string | undefined;
}

const answerSchema = z.looseObject({
  // JSON has 64-bit numbers as strings
  partialSuccess: z.looseObject({ rejectedLogRecords: z.coerce.number().min(0).default(0) }).optional(),
});

/**
 * How many records of a request were rejected. An empty body is a success: there is nothing that it says otherwise.
 * @throws CodedError `service_unreachable` for an answer that is none of a collector: it proves nothing
 */
function rejectedOf(answer: HttpAnswer, url: string): number {
  if (answer.text.trim() === '') return 0;
  const said = answerSchema.safeParse(jsonOf(answer));
  if (said.success) return said.data.partialSuccess?.rejectedLogRecords ?? 0;
  throw new CodedError('service_unreachable', `The answer of ${url} is none of an OTLP collector.`);
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/**
 * OTLP logs, JSON encoding. A partial success says how many records it means and never which, and the protocol forbids to
 * repeat such a request: it is told with its range, and a person who sends the range again sends each record by itself. A
 * request of which nothing was kept is no partial success: it waits, like any that a receiver did not take.
 */
export function createOtlpSink({ url, token, caFile }: OtlpOptions): Sink {
  const client = createHttpClient(url, caFile);
  return createReceiverSink({
    kind: 'otlp',
    place: url,
    tellsWhich: false,
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
      if (outcomeOf(answer, url) !== 'kept') return { kept: false, reason: `http_${answer.status}` };
      const rejected = rejectedOf(answer, url);
      if (rejected === 0) return { kept: true, refused: [] };
      if (rejected < events.length) return { kept: 'some', rejected };
      return { kept: true, refused: events.map((_, place) => ({ place, reason: 'rejected' })) };
    },
    close: client.close,
  });
}
