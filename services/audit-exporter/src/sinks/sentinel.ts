import { plainRecord } from '@lemniscate/shared/audit/outgoing-event.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { Sink } from '../application/ports/sink.ts';
import { createHttpClient, jsonOf, outcomeOf } from './http/post.ts';
import { createReceiverSink } from './http/receiver-sink.ts';

/** Microsoft Sentinel by the Logs Ingestion API. */
export interface SentinelOptions {
  /** Data collection endpoint. */
  readonly url: string;
  /** Immutable id of the data collection rule. */
  readonly rule: string;
  /** `Custom-…`; its columns are TimeGenerated, id, type, subject, identity, people, body, integrity, server, attempt. */
  readonly stream: string;
  readonly tenant: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Where tokens come from; sovereign clouds have their own. */
  readonly authority?: string | undefined;
  readonly caFile?: string | undefined;
}

const tokenSchema = z.looseObject({ access_token: z.string(), expires_in: z.number() });

/** A 204 says that the rule has taken the events; the API takes 1,048,576 bytes a request. */
export function createSentinelSink(options: SentinelOptions): Sink {
  const { url, rule, stream, tenant, clientId, clientSecret, caFile } = options;
  const authority = options.authority ?? 'https://login.microsoftonline.com';
  const client = createHttpClient(url, caFile);
  const tokens = createHttpClient(authority, caFile);
  let token: { readonly value: string; readonly until: number } | null = null;

  const login = async (signal: AbortSignal): Promise<string> => {
    if (token !== null && token.until > performance.now()) return token.value;
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret.reveal(),
      scope: 'https://monitor.azure.com/.default',
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await tokens.post(`/${tenant}/oauth2/v2.0/token`, headers, form.toString(), signal);
    const parsed = tokenSchema.safeParse(jsonOf(answer));
    if (!parsed.success)
      throw new CodedError('forbidden', `${authority} gives no token to ${clientId} (${answer.status}).`);
    token = {
      value: parsed.data.access_token,
      until: performance.now() + (parsed.data.expires_in - 60) * 1_000,
    };
    return token.value;
  };

  return createReceiverSink({
    kind: 'sentinel',
    place: `${url}/${rule}/${stream}`,
    mostBytes: 1_000_000,
    encode: (event) =>
      JSON.stringify({ TimeGenerated: event.at, ...(plainRecord(event) as Record<string, unknown>) }),
    send: async (events, signal) => {
      const path = `/dataCollectionRules/${rule}/streams/${stream}?api-version=2023-01-01`;
      const headers = { authorization: `Bearer ${await login(signal)}`, 'content-type': 'application/json' };
      const answer = await client.post(path, headers, `[${events.join(',')}]`, signal);
      if (answer.status === 401) token = null;
      if (outcomeOf(answer, url) === 'kept') return { kept: true, refused: [] };
      return { kept: false, reason: `http_${answer.status}` };
    },
    close: async () => {
      await client.close();
      await tokens.close();
    },
  });
}
