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
  | 'not_thrown'
  // finer than the kinds above, and therefore worth more
  | 'case'
  | 'whitespace'
  | 'off_by_one';

/** How much a class gains whose kind is seen: a finer kind says more about the fault. */
export const evidenceWeights: Readonly<Record<EvidenceKind, number>> = {
  boolean: 1.5,
  number: 1.5,
  string: 1.5,
  order: 1.5,
  length: 1.5,
  missing_value: 1.5,
  thrown: 1.5,
  not_thrown: 1.5,
  case: 2.5,
  whitespace: 2.5,
  off_by_one: 2,
};

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
    .map((expected, index) => ({ expected, actual: failure.actual[index] }))
    .filter((pair) => !Object.is(pair.expected, pair.actual));
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

const digits = /^[\d.]+$/;

function kindsOfPair({ expected, actual }: LeafPair): EvidenceKind[] {
  if (actual == null || expected == null || Number.isNaN(actual)) return ['missing_value'];
  if (typeof expected === 'boolean' || typeof actual === 'boolean') return ['boolean'];
  if (typeof expected === 'number' && typeof actual === 'number') {
    return Math.abs(expected - actual) === 1 ? ['number', 'off_by_one'] : ['number'];
  }
  const [wanted, given] = [String(expected), String(actual)];
  const middle = fragmentsOf(wanted, given)[0];
  return [
    'string',
    ...(Math.abs(wanted.length - given.length) === 1 ? (['off_by_one'] as const) : []),
    ...(wanted.toLowerCase() === given.toLowerCase() ? (['case'] as const) : []),
    ...(wanted.trim() === given.trim() ? (['whitespace'] as const) : []),
    // A printed number that differs is a fault of arithmetic, not of text.
    ...(digits.test(middle?.expected ?? '') && digits.test(middle?.actual ?? '')
      ? (['number'] as const)
      : []),
  ];
}

function kindsOf(failure: TestFailure, pairs: readonly LeafPair[]): EvidenceKind[] {
  if (failure.operator === 'throws' || failure.operator === 'rejects') return ['not_thrown'];
  if (failure.operator === '' || /^(doesNot|ifError)/.test(failure.operator)) return ['thrown'];
  if (failure.operator === '==') return ['boolean'];
  if (failure.operator === 'match' || failure.operator === 'doesNotMatch') return ['string'];
  const sorted = (leaves: readonly Leaf[]): string => leaves.map(String).sort().join('\n');
  const surplus = failure.expected.length - failure.actual.length;
  if (surplus !== 0) return Math.abs(surplus) === 1 ? ['length', 'off_by_one'] : ['length'];
  if (pairs.length > 1 && sorted(failure.expected) === sorted(failure.actual)) return ['order'];
  return pairs.flatMap(kindsOfPair);
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
