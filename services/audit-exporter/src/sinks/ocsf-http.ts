import { toOcsf } from '@lemniscate/shared/audit/ocsf.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, outcomeOf } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

export interface OcsfHttpOptions {
  readonly url: string;
  readonly token?: Secret | undefined;
  readonly caFile?: string | undefined;
}

/** OCSF events as a JSON array over HTTPS. A 2xx must mean "kept"; a receiver that queues in memory proves nothing. */
export function createOcsfHttpSink({ url, token, caFile }: OcsfHttpOptions): Sink {
  const client = createHttpClient(url, caFile);
  return createReceiverSink({
    kind: 'ocsf',
    place: url,
    mostBytes: 1_000_000,
    encode: (event) => JSON.stringify(toOcsf(event)),
    send: async (events, signal) => {
      const headers = {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      };
      const answer = await client.post('', headers, `[${events.join(',')}]`, signal);
      if (outcomeOf(answer, url) === 'kept') return { kept: true, refused: [] };
      return { kept: false, reason: `http_${answer.status}` };
    },
    close: client.close,
  });
}
