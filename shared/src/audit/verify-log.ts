import { canonicalBytes } from './canonical.ts';
import { citationOf } from './citation.ts';
import { sameBytes } from './digest.ts';
import { dedupId } from './sink-line.ts';
import type { SinkLine } from './sink-line.ts';
import { fromStored } from './stored-entry.ts';
import { chainFault, createChainVerifier } from './verify.ts';
import type { ChainFault, ChainFaultKind, ChainVerifier } from './verify.ts';

/** The end of a chain as an export has it: what the database must still agree with. */
export interface ChainEnd {
  readonly seq: number;
  /** Hex. */
  readonly digest: string;
}

/** Walks an export of the whole log, in which the chains are interleaved. */
export interface LogVerifier {
  push(line: SinkLine): ChainFault | null;
  entries(): number;
  /** Every chain met, with its last whole entry. */
  ends(): ReadonlyMap<string, ChainEnd>;
}

/**
 * A verifier of an export from index 0, or from the index that an anchor proves: chains that began before it are then
 * followed from their first entry behind it. Memory grows with the number of chains, not of entries. It cannot know of
 * lines that are missing at the end: compare `ends` with the database, or the database with them.
 */
export function createLogVerifier(from = 0): LogVerifier {
  const open = new Map<string, ChainVerifier>();
  const ends = new Map<string, ChainEnd>();
  let next = from;
  let found: ChainFault | null = null;

  const begin = (line: SinkLine): ChainVerifier => {
    if (from === 0 || line.seq === 1) return createChainVerifier(line.chain);
    return createChainVerifier(line.chain, {}, { seq: line.seq - 1, digest: Buffer.from(line.prev, 'hex') });
  };

  const check = (line: SinkLine): ChainFault | null => {
    if (line.index !== next)
      return chainFault(line.chain, line.seq, 'index_gap', ` (index ${line.index}, not ${next})`);
    const entry = fromStored(line);
    const copies = checkCopies(line, entry.body);
    if (copies !== null) return chainFault(line.chain, line.seq, copies);
    const end = ends.get(line.chain);
    const verifier = open.get(line.chain) ?? (end === undefined ? begin(line) : null);
    if (verifier === null) return chainFault(line.chain, line.seq, 'after_close');
    const fault = verifier.push(entry);
    if (fault !== null) return fault;
    if (!isCitedRightly(line)) return chainFault(line.chain, line.seq, 'citation_wrong');
    if (verifier.closed()) open.delete(line.chain);
    else open.set(line.chain, verifier);
    ends.set(line.chain, { seq: line.seq, digest: line.digest });
    next += 1;
    return null;
  };

  // a session that closed before the anchor is not known here
  const isCitedRightly = (line: SinkLine): boolean => {
    const cited = line.entry === null ? null : citationOf(line.chain, line.entry);
    if (cited === null) return true;
    const end = ends.get(cited.chain);
    if (end === undefined) return from > 0;
    return !open.has(cited.chain) && end.digest === cited.digest;
  };

  return {
    push: (line) => {
      found ??= check(line);
      return found;
    },
    entries: () => next - from,
    ends: () => ends,
  };
}

function checkCopies(line: SinkLine, body: Uint8Array): ChainFaultKind | null {
  if (line.id !== dedupId(line.chain, line.seq, line.digest)) return 'copies_differ';
  if (line.entry === null) return null;
  return sameBytes(canonicalBytes(line.entry), body) ? null : 'copies_differ';
}
