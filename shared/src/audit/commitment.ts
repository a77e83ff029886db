import { createHmac } from 'node:crypto';
import { framed } from './digest.ts';

/** What an entry commits to without holding it. The kind is hashed with it, so equal texts of two kinds differ. */
export type CommittedKind =
  | 'instruction'
  | 'message'
  | 'setting'
  | 'address'
  | 'comment'
  | 'credential'
  | 'reason';

/**
 * A keyed commitment: HMAC-SHA256 under the fleet's key, in lower-case hex. Who holds text and key can prove that an
 * entry speaks of the text; who holds the log alone cannot try out guesses, as a plain digest would let him.
 */
export function commitment(key: Uint8Array, kind: CommittedKind, text: string): string {
  const parts = [Buffer.from(kind), Buffer.from(text, 'utf8')];
  return createHmac('sha256', key).update(framed('lemniscate/audit/commitment/v1', parts)).digest('hex');
}
