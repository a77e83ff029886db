import { createHash } from 'node:crypto';
import type { Candidate } from './candidates.ts';
import type { Case } from './rank.ts';

// Each holds the texts of up to some thousand repairs of small files.
const mostKept = 16;

function keyOf({ failures, sources, tests }: Case): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(failures));
  for (const { path, text } of [...sources, ...tests]) hash.update(JSON.stringify([path, text]));
  return hash.digest('hex');
}

/**
 * Ranking costs up to half a second and every exchange of a session asks for the same one again. It follows from its
 * input alone, so what is remembered can be thrown away at any time.
 */
export function remembering(rank: (known: Case) => Candidate[]): (known: Case) => Candidate[] {
  const kept = new Map<string, Candidate[]>();
  return (known) => {
    const key = keyOf(known);
    const ranked = kept.get(key) ?? rank(known);
    kept.delete(key);
    kept.set(key, ranked);
    const oldest = kept.keys().next().value;
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
    return ranked;
  };
}
