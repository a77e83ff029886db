import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Verified } from './webhook-source.ts';

/**
 * Digests first: the comparison wants equal lengths, and the length of a secret is nobody's business either. What was not
 * sent is no secret, also where none is expected.
 */
export function sameSecret(sent: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(sent), digest(expected)) && expected !== '';
}

export const hmacHex = (secret: string, ...parts: readonly (string | Buffer)[]): string => {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
};

export const refusedSignature = (message: string): Verified => ({
  ok: false,
  reason: 'signature_refused',
  message,
});

/** How far a signed time may be from now: what Slack and Standard Webhooks say. Seconds. */
const windowSeconds = 300;

/** Null: the time is near enough. */
export function staleness(seconds: string | undefined, now: Date): Verified | null {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds))
    return refusedSignature('The delivery names no time that was signed.');
  const away = Math.abs(now.getTime() / 1_000 - Number(seconds));
  if (away <= windowSeconds) return null;
  return {
    ok: false,
    reason: 'stale',
    message: `The delivery was signed ${Math.round(away)} seconds away from now; at most ${windowSeconds} are taken.`,
  };
}
