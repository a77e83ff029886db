import { hash } from 'node:crypto';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';

const size = 20_000;
const rounds = 8;

/**
 * Entries a second that a chain's verifier walks, and that JSON.parse and one SHA-256 alone would. The best of eight rounds
 * in which the two take turns, so that both have a warm compiler and the same neighbours.
 */
export function measureVerify(): { bareRate: number; verifyRate: number } {
  const entries = makeChain();
  const bare = (): void => {
    for (const { body } of entries) {
      JSON.parse(Buffer.from(body).toString());
      hash('sha256', body, 'hex');
    }
  };
  const verify = (): void => {
    const verifier = createChainVerifier('session:bench');
    for (const entry of entries) verifier.push(entry);
    const fault = verifier.finish();
    if (fault !== null) throw new Error(fault.message);
  };
  const times = Array.from({ length: rounds }, () => ({ bare: timeOf(bare), verify: timeOf(verify) }));
  const rate = (of: readonly number[]): number => Math.round(size / (Math.min(...of) / 1_000));
  return { bareRate: rate(times.map((one) => one.bare)), verifyRate: rate(times.map((one) => one.verify)) };
}

function timeOf(walk: () => void): number {
  const begin = performance.now();
  walk();
  return performance.now() - begin;
}

function makeChain(): ChainedEntry[] {
  const opening: AuditDraft = {
    type: 'session.opened',
    subject: 'ann',
    body: { policyDigest: 'a'.repeat(64) },
  };
  const drafts = Array.from({ length: size - 1 }, (_, call): AuditDraft => {
    const body = {
      call: `toolu_${call}`,
      decidedBy: 'automation',
      verdict: 'allowedWithoutPermission',
      argumentsDigest: 'b'.repeat(64),
      reasons: ['the project frees this command'],
    };
    return { type: 'tool.decided', subject: 'spiffe://lemniscate/dispatcher/one', attempt: 1, body };
  });
  return extendChain(unopened('session:bench'), [opening, ...drafts], '2026-01-01T00:00:00.000Z').entries;
}
