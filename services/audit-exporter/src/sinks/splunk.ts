import { setTimeout } from 'node:timers/promises';
import { plainRecord } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, jsonOf, outcomeOf } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

/** Splunk's HTTP Event Collector. The token must have indexer acknowledgement on. */
export interface SplunkOptions {
  /** `https://host:8088`. */
  readonly url: string;
  readonly token: Secret;
  readonly caFile?: string | undefined;
  /** Longest wait for an acknowledgement; afterwards the batch is sent again. */
  readonly ackMs?: number | undefined;
}

const answerSchema = z.looseObject({
  code: z.int().optional(),
  ackId: z.int().optional(),
  'invalid-event-number': z.int().optional(),
});
const acksSchema = z.object({ acks: z.record(z.string(), z.boolean()) });
const eventsPath = '/services/collector/event';

/**
 * A 200 only says that the events look well; kept is what `/services/collector/ack` confirms. `false` there also means
 * "unknown", so at the deadline the batch is sent again, with the same ids.
 */
export function createSplunkSink({ url, token, caFile, ackMs = 25_000 }: SplunkOptions): Sink {
  const client = createHttpClient(url, caFile);
  // acknowledgements belong to a channel; one of its own keeps other senders' ids away
  const channel = crypto.randomUUID();
  const headers = () => ({
    authorization: `Splunk ${token.reveal()}`,
    'x-splunk-request-channel': channel,
    'content-type': 'application/json',
  });

  const untilIndexed = async (ackId: number, signal: AbortSignal): Promise<void> => {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ackMs)]);
    for (let wait = 50; ; wait = Math.min(1_000, wait * 2)) {
      const answer = await client.post(
        `/services/collector/ack?channel=${channel}`,
        headers(),
        JSON.stringify({ acks: [ackId] }),
        deadline,
      );
      if (outcomeOf(answer, url) !== 'kept')
        throw new CodedError('service_unreachable', `Splunk at ${url} does not answer for acknowledgements.`);
      const acks = acksSchema.safeParse(jsonOf(answer));
      if (acks.data?.acks[String(ackId)] === true) return;
      await setTimeout(wait, undefined, { signal: deadline });
    }
  };

  return createReceiverSink({
    kind: 'splunk',
    place: url,
    mostBytes: 900_000,
    encode: (event) =>
      JSON.stringify({
        time: Date.parse(event.at) / 1_000,
        source: 'lemniscate',
        sourcetype: 'lemniscate:audit',
        event: plainRecord(event),
        fields: { id: event.id },
      }),
    send: async (events, signal) => {
      const answer = await client.post(eventsPath, headers(), events.join('\n'), signal);
      const outcome = outcomeOf(answer, url);
      const said = answerSchema.safeParse(jsonOf(answer)).data ?? {};
      if (outcome === 'too_large') return { kept: false, reason: 'too_large' };
      if (outcome === 'refused') {
        // 7: the index is not the token's; 10 and 11: the channel is missing or wrong; 14: acknowledgement is off
        if ([7, 10, 11, 14].includes(said.code ?? 0))
          throw new CodedError(
            'service_unreachable',
            `Splunk at ${url} refuses the token or its channel (code ${said.code}).`,
          );
        return { kept: false, reason: `splunk_${said.code ?? 'refused'}` };
      }
      if (said.ackId === undefined)
        throw new CodedError(
          'service_unreachable',
          `Splunk at ${url} gives no ackId: turn indexer acknowledgement on for this token.`,
        );
      await untilIndexed(said.ackId, signal);
      return { kept: true, refused: [] };
    },
    close: client.close,
  });
}
