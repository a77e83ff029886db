import { createHmac } from 'node:crypto';
import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import type { PostOutside } from './post-outside.ts';

/** What a receiver of Standard Webhooks checks: id, time and the very bytes. */
export function standardSignature(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

/** Tells a program by HTTP, signed as Standard Webhooks has it (www.standardwebhooks.com, version 1). */
export function createWebhookNotifier(post: PostOutside): Notifier {
  return {
    kind: 'webhook',
    send: async (notice, place, secret, at, signal): Promise<NoticeOutcome> => {
      if (place.kind !== 'webhook') return { ok: false, status: null, fault: 'This is no webhook.' };
      const seconds = Math.floor(at.getTime() / 1_000);
      const headers = {
        'content-type': 'application/json',
        'webhook-id': notice.id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': standardSignature(secret, notice.id, seconds, notice.body),
      };
      return post(place.url, headers, notice.body, signal);
    },
    close: () => Promise.resolve(),
  };
}
