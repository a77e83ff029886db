import type { JsonValue } from '../json.ts';
import { sessionChain } from './entry.ts';

/** What an entry of a review chain says of the session that it is about. */
export interface Citation {
  readonly chain: string;
  /** Hex digest of the last entry that the session's chain had. */
  readonly digest: string;
}

/**
 * The citation of a closed session in a review entry; null where it cites none. An open chain's head is no citation:
 * more may follow it.
 * @param envelope what the entry's canonical bytes say
 */
export function citationOf(chain: string, envelope: JsonValue): Citation | null {
  if (!chain.startsWith('review:')) return null;
  const body = member(envelope, 'body');
  const [session, digest] = [member(body, 'session'), member(body, 'sessionChainDigest')];
  if (member(body, 'sessionChainClosed') !== true) return null;
  if (typeof session !== 'string' || typeof digest !== 'string') return null;
  return { chain: sessionChain(session), digest };
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  return (value as Readonly<Record<string, JsonValue>>)[name];
}
