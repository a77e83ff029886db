import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { checkpointText, composeNote, logKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { createTreeHasher, leafHash } from '@lemniscate/shared/audit/merkle.ts';
import type { Frontier } from '@lemniscate/shared/audit/merkle.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import type { SinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { createLogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import { createSealVerifier } from '@lemniscate/shared/audit/verify-seal.ts';

const tail = 5_000;
const rounds = 5;
const perSession = 100;

/** What verifying costs in a log that grows. */
export interface Flatness {
  /** The same number of entries, verified behind a checkpoint of a short log and of a long one. */
  readonly shortMs: number;
  readonly longMs: number;
  /** Heap that a walk over 200,000 entries holds more than one over 20,000. */
  readonly grownMiB: number;
}

/** Verifies tails of logs with chains, root and signature, and whole logs entry by entry. */
export function measureFlatness(): Flatness {
  const short = sealedTail(10_000);
  const long = sealedTail(1_000_000_000);
  const times = Array.from({ length: rounds }, () => ({ short: timeOf(short), long: timeOf(long) }));
  const best = (of: readonly number[]): number => Math.round(Math.min(...of) * 10) / 10;
  return {
    shortMs: best(times.map((one) => one.short)),
    longMs: best(times.map((one) => one.long)),
    grownMiB: Math.max(0, Math.round((heapAfter(200_000) - heapAfter(20_000)) / 2 ** 20)),
  };
}

/** A walk over the entries behind an anchor of `size`, up to the next checkpoint. */
function sealedTail(size: number): () => void {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = logKey('lemniscate.audit/bench', publicKey);
  // a frontier proves itself: which leaves stand behind it is no matter of time
  const bits = size.toString(2).replaceAll('0', '').length;
  const from: Frontier = { size, hashes: Array.from({ length: bits }, () => randomBytes(32)) };
  const lines = [...linesFrom(size, tail)];
  const hasher = createTreeHasher(from);
  for (const { digest } of lines) hasher.push(leafHash(Buffer.from(digest, 'hex')));
  const at = '2026-01-01T00:00:00.000Z';
  const checkpoint = { origin: key.name, size: size + tail, root: hasher.root(), number: 7, epoch: 0, at };
  const text = checkpointText(checkpoint);
  const note = composeNote(text, key, sign(null, Buffer.from(text), privateKey));
  return () => {
    const log = createLogVerifier(size);
    const seal = createSealVerifier({ key, notes: [note], from });
    for (const line of lines) {
      const fault = log.push(line);
      if (fault !== null) throw new Error(fault.message);
      seal.push(line);
    }
    const fault = seal.finish();
    if (fault !== null || seal.covered() !== size + tail) throw new Error(fault?.message ?? 'not covered');
  };
}

/** Lines of a log from an index on, session after session, made as they are asked for. */
function* linesFrom(index: number, count: number): Generator<SinkLine> {
  for (let made = 0; made < count; made += perSession) {
    const calls = Array.from({ length: perSession - 2 }, (_, call) => ({
      type: 'tool.executed' as const,
      subject: 'spiffe://lemniscate/agent-server/one',
      attempt: 1,
      body: { call: `toolu_${call}`, state: 'done', exitCode: 0, durationMs: 12 },
    }));
    const { entries } = extendChain(
      unopened(`session:bench_${index + made}`),
      [
        { type: 'session.opened', subject: 'ann', body: { policyDigest: 'a'.repeat(64) } },
        ...calls,
        { type: 'chain.closed', subject: 'spiffe://lemniscate/dispatcher/one', body: {} },
      ],
      '2026-01-01T00:00:00.000Z',
    );
    for (const [place, entry] of entries.entries())
      yield sinkLineSchema.parse(JSON.parse(toSinkLine({ index: index + made + place, entry })));
  }
}

function timeOf(walk: () => void): number {
  const begin = performance.now();
  walk();
  return performance.now() - begin;
}

/** Bytes of heap in use behind a walk over so many entries, the verifier still held. */
function heapAfter(entries: number): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const verifier = createLogVerifier();
  for (const line of linesFrom(0, entries)) verifier.push(line);
  collect();
  const { heapUsed } = process.memoryUsage();
  if (verifier.entries() !== entries) throw new Error('the walk stopped');
  return heapUsed;
}
