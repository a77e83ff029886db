import { nowhere, skipMembers, skipText, skipWord } from './canonical-scan.ts';
import type { ChainedEntry } from './entry.ts';
import { isTime } from './envelope.ts';

// Most entries are plain, stand in the middle of their chain and are what they seem. That shows at a look at their bytes,
// for canonical bytes have the members of an envelope in one order. Parsing them took half of a verifier's time.

const quote = 0x22;
/** Types of which a verifier must know more than that they are sound. */
const turningPoints: ReadonlySet<string> = new Set(['session.opened', 'chain.opened', 'chain.closed']);

/**
 * Whether an entry's bytes are certainly the canonical form of an envelope that says what the copies beside them say, and
 * its type one that may stand anywhere in a chain. `false` says nothing: then the bytes have to be parsed.
 */
export function isPlainlySound({ seq, body, type, at }: ChainedEntry): boolean {
  if (seq === 1 || turningPoints.has(type) || type === '' || !isTime(at)) return false;
  let place = skipBytes(body, skipSame(body, skipBytes(body, 0, '{"at":'), at), ',');
  if (place === nowhere) return false;
  const attempt = skipBytes(body, place, '"attempt":');
  if (attempt !== nowhere) place = skipBytes(body, skipNumber(body, attempt), ',');
  place = skipBytes(body, place, '"body":{');
  if (place === nowhere) return false;
  place = skipBytes(body, skipMembers(body, place, 2), ',');
  const server = skipBytes(body, place, '"server":');
  if (server !== nowhere) place = skipBytes(body, skipAny(body, server), ',');
  const subject = skipBytes(body, place, '"subject":');
  const named = skipAny(body, subject);
  // a subject is not empty: two quotes are
  if (named === nowhere || named === subject + 2) return false;
  return skipBytes(body, skipSame(body, skipBytes(body, named, ',"type":'), type), ',"v":1}') === body.length;
}

/** The place behind these very bytes. */
function skipBytes(bytes: Uint8Array, from: number, text: string): number {
  if (from === nowhere) return nowhere;
  const { length } = text;
  if (from + length > bytes.length) return nowhere;
  for (let place = 0; place < length; place += 1)
    if (bytes[from + place] !== text.charCodeAt(place)) return nowhere;
  return from + length;
}

function skipAny(bytes: Uint8Array, from: number): number {
  return from === nowhere || bytes[from] !== quote ? nowhere : skipText(bytes, from);
}

/** The place behind a text that says this: its end is looked for first, so that no quote in `text` passes for one. */
function skipSame(bytes: Uint8Array, from: number, text: string): number {
  const end = skipAny(bytes, from);
  return skipBytes(bytes, from + 1, text) === end - 1 ? end : nowhere;
}

function skipNumber(bytes: Uint8Array, from: number): number {
  const first = bytes[from] ?? 0;
  // 'true' is a word, too
  return first > 0x39 ? nowhere : skipWord(bytes, from, first);
}
