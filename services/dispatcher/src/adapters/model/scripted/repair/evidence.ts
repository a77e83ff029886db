import type { Leaf, TestFailure } from './test-failure.ts';

/** What kind of difference a failure shows; mutation classes say which kinds they like. */
export type EvidenceKind =
  | 'boolean'
  | 'number'
  | 'string'
  | 'order'
  | 'length'
  | 'missing_value'
  | 'thrown'
  | 'not_thrown';

/** A value that should have been another. */
export interface LeafPair {
  readonly expected: Leaf;
  readonly actual: Leaf;
}

/** A part of a text that should have been another part; either may be empty. */
export interface Fragment {
  readonly expected: string;
  readonly actual: string;
}

export interface Evidence {
  readonly kinds: ReadonlySet<EvidenceKind>;
  readonly pairs: readonly LeafPair[];
  readonly fragments: readonly Fragment[];
}

function pairsOf(failure: TestFailure): LeafPair[] {
  if (failure.expected.length !== failure.actual.length) return [];
  return failure.expected
    .map((expected, index) => ({ expected, actual: failure.actual[index] ?? null }))
    .filter((pair) => pair.expected !== pair.actual);
}

/** The middles that differ once the common beginning and end are taken away, also word by word. */
export function fragmentsOf(expected: string, actual: string): Fragment[] {
  let head = 0;
  while (head < expected.length && head < actual.length && expected[head] === actual[head]) head += 1;
  let tail = 0;
  while (
    tail < expected.length - head &&
    tail < actual.length - head &&
    expected.at(-1 - tail) === actual.at(-1 - tail)
  ) {
    tail += 1;
  }
  const whole = {
    expected: expected.slice(head, expected.length - tail),
    actual: actual.slice(head, actual.length - tail),
  };
  const separators = (text: string): string[] => text.match(/[^\p{L}\p{N}]+/gu) ?? [];
  const wanted = separators(expected);
  const given = separators(actual);
  const changed =
    wanted.length === given.length
      ? wanted.flatMap((separator, index) =>
          separator === given[index] ? [] : [{ expected: separator, actual: given[index] ?? '' }],
        )
      : wanted.map((separator) => ({ expected: separator, actual: '' }));
  return [whole, ...changed];
}

function kindsOf(failure: TestFailure, pairs: readonly LeafPair[]): EvidenceKind[] {
  if (failure.operator === 'throws' || failure.operator === 'rejects') return ['not_thrown'];
  if (failure.operator === '' || /^(doesNot|ifError)/.test(failure.operator)) return ['thrown'];
  if (failure.operator === '==') return ['boolean'];
  if (failure.operator === 'match' || failure.operator === 'doesNotMatch') return ['string'];
  const sorted = (leaves: readonly Leaf[]): string => leaves.map(String).sort().join('\n');
  if (failure.expected.length !== failure.actual.length) return ['length'];
  if (pairs.length > 1 && sorted(failure.expected) === sorted(failure.actual)) return ['order'];
  return pairs.map(({ expected, actual }): EvidenceKind => {
    if (actual === null || expected === null) return 'missing_value';
    if (typeof expected === 'boolean') return 'boolean';
    return typeof expected === 'number' ? 'number' : 'string';
  });
}

/** Draws what the failures show together. */
export function readEvidence(failures: readonly TestFailure[]): Evidence {
  const each = failures.map((failure) => ({ failure, pairs: pairsOf(failure) }));
  const pairs = each.flatMap((one) => one.pairs);
  const fragments = pairs.flatMap(({ expected, actual }) =>
    typeof expected === 'string' && typeof actual === 'string' ? fragmentsOf(expected, actual) : [],
  );
  const unique = new Map(fragments.map((fragment) => [JSON.stringify(fragment), fragment]));
  return {
    kinds: new Set(each.flatMap((one) => kindsOf(one.failure, one.pairs))),
    pairs,
    fragments: [...unique.values()].filter((fragment) => fragment.expected !== fragment.actual),
  };
}
