import type { JsonValue } from '../json.ts';
import { readCanonical } from './canonical.ts';
import { isEntryDigest, sameBytes, toHex } from './digest.ts';
import { openingType } from './entry.ts';
import { readEnvelope } from './envelope.ts';
import type { ChainedEntry } from './entry.ts';
import { isPlainlySound } from './plain-entry.ts';

/** What can be wrong with a chain. */
export const chainFaults = {
  foreign: 'the entry belongs to another chain',
  repeated: 'the place is taken already',
  gap: 'entries before it are missing',
  wrong_prev: 'it does not carry the digest of the entry before it',
  wrong_digest: 'its bytes do not have its digest',
  not_canonical: 'its bytes are not the canonical form of an entry',
  copies_differ: 'the readable copy beside the hashed bytes says something else',
  missing_open: 'the chain does not begin with its opening entry',
  second_open: 'the chain is opened a second time',
  after_close: 'the chain was closed before it',
  wrong_count: 'the closing entry counts another number of entries',
  missing_close: 'the chain was never closed',
  tail_cut: 'entries at the end are missing',
  unreadable: 'the line is no audit entry',
  missing_chain: 'the whole chain is gone',
  index_gap: 'entries of the log before it are missing or out of order',
  citation_wrong: 'it cites another end of its session than the session’s chain has',
  head_differs: 'the chain ends in another digest than the one that is known',
  checkpoint_unreadable: 'it is no checkpoint of an audit log',
  checkpoint_forged: 'no trusted key has signed it',
  checkpoint_gap: 'checkpoints before it are missing',
  checkpoint_repeated: 'it comes a second time, or out of order',
  checkpoint_shrinks: 'it covers fewer entries than the one before it',
  split_view: 'two signed checkpoints of this number say different things',
  root_differs: 'the entries do not have the root that was signed',
  log_cut: 'the log has fewer entries than were signed',
  epoch_unexplained: 'a new epoch begins without a signed entry that says which restore began it',
  not_included: 'the proof that it is in the signed log does not hold',
  not_covered: 'it is older than the newest checkpoint, which does not cover it',
  unsealed: 'no checkpoint covers these entries',
  inconsistent: 'the proof that the log has only grown since the anchor does not hold',
  rotation_refused: 'the keys of the log did not sign this hand-over',
  manifest_gap: 'manifests before it are missing',
  manifest_differs: 'it does not carry the digest of the manifest before it',
  segment_missing: 'a manifest lists it, and it is not there',
  segment_differs: 'its bytes are not those that its manifest lists',
} as const;
export type ChainFaultKind = keyof typeof chainFaults;

/** The first broken entry of a chain and what is wrong with it. */
export interface ChainFault {
  readonly chain: string;
  readonly seq: number;
  readonly fault: ChainFaultKind;
  readonly message: string;
}

/** Puts a fault into words. */
export function chainFault(chain: string, seq: number, fault: ChainFaultKind, more = ''): ChainFault {
  return { chain, seq, fault, message: `${chain} entry ${seq}: ${chainFaults[fault]}${more}.` };
}

/** What somebody outside the log knows of a chain's end. */
export interface ExpectedEnd {
  /** A place in the chain and its digest, from an anchor or from the chain's row. */
  readonly head?: { readonly seq: number; readonly digest: Uint8Array };
  /** The session has ended, so its chain must be closed. */
  readonly closed?: boolean;
}

/** Walks one chain entry by entry in constant memory; after the first fault it stays at that fault. */
export interface ChainVerifier {
  push(entry: ChainedEntry): ChainFault | null;
  finish(expected?: ExpectedEnd): ChainFault | null;
  /** Entries found whole so far. */
  count(): number;
  /** Digest of the last whole entry; no bytes before the first. */
  digest(): Uint8Array;
  closed(): boolean;
}

/**
 * A verifier for one chain from its first entry, or behind `from` where what lies before has been verified already.
 *
 * What it cannot see without an `ExpectedEnd` from outside: a cut tail of an open chain, and a chain that was
 * rebuilt from some entry on with digests computed anew.
 */
export function createChainVerifier(
  chain: string,
  expected: ExpectedEnd = {},
  from: { readonly seq: number; readonly digest: Uint8Array } = { seq: 0, digest: new Uint8Array() },
): ChainVerifier {
  let { seq, digest } = from;
  let closed = false;
  let found: ChainFault | null = null;

  const stop = (at: number, fault: ChainFaultKind, more = ''): ChainFault => {
    found = chainFault(chain, at, fault, more);
    return found;
  };

  const push = (entry: ChainedEntry): ChainFault | null => {
    if (found !== null) return found;
    const place = checkPlace(entry, chain, { seq, digest, closed });
    if (place !== null)
      return stop(entry.seq, place, place === 'gap' ? ` (${entry.seq - seq - 1} of them)` : '');
    const content = checkContent(entry);
    if (content !== null) return stop(entry.seq, content);
    if (expected.head?.seq === entry.seq && !sameBytes(expected.head.digest, entry.digest))
      return stop(entry.seq, 'head_differs', ` (${toHex(expected.head.digest)})`);
    seq = entry.seq;
    digest = entry.digest;
    closed = entry.type === 'chain.closed';
    return null;
  };

  const finish = (end: ExpectedEnd = expected): ChainFault | null => {
    if (found !== null) return found;
    if (end.head !== undefined && end.head.seq > seq)
      return stop(seq + 1, 'tail_cut', ` (it is known to reach ${end.head.seq})`);
    if (end.head?.seq === seq && !sameBytes(end.head.digest, digest)) return stop(seq, 'head_differs');
    if (seq === 0) return stop(1, 'missing_open');
    return end.closed === true && !closed ? stop(seq, 'missing_close') : null;
  };

  return { push, finish, count: () => seq, digest: () => digest, closed: () => closed };
}

function checkPlace(
  entry: ChainedEntry,
  chain: string,
  last: { seq: number; digest: Uint8Array; closed: boolean },
): ChainFaultKind | null {
  if (entry.chain !== chain) return 'foreign';
  if (entry.seq <= last.seq) return 'repeated';
  if (entry.seq > last.seq + 1) return last.seq === 0 ? 'missing_open' : 'gap';
  if (last.closed) return 'after_close';
  return sameBytes(entry.prev, last.digest) ? null : 'wrong_prev';
}

function checkContent(entry: ChainedEntry): ChainFaultKind | null {
  // the digest first: it speaks of the bytes, whatever they say
  if (!isEntryDigest(entry.digest, entry)) return 'wrong_digest';
  if (isPlainlySound(entry)) return null;
  const read = readCanonical(entry.body);
  if (read === null || !read.canonical) return 'not_canonical';
  const envelope = readEnvelope(read.value);
  if (envelope === null) return 'not_canonical';
  const { type, at, body } = envelope;
  if (type !== entry.type || at !== entry.at) return 'copies_differ';
  if (entry.seq === 1 && type !== openingType(entry.chain)) return 'missing_open';
  if (entry.seq > 1 && (type === openingType(entry.chain) || type === 'chain.opened')) return 'second_open';
  if (type === 'chain.closed' && countOf(body) !== String(entry.seq)) return 'wrong_count';
  return null;
}

function countOf(body: Record<string, unknown>): JsonValue | undefined {
  const count = body['entries'];
  return typeof count === 'string' ? count : undefined;
}
