/** Steps of work on a text that a pattern may take at most, as a power of its length. */
const mostRepetitions = 2;
const longestSubject = 300;

/**
 * Whether a pattern can be matched in bounded time: a repository's own pattern can take for ever. Allowed are at most
 * two unbounded quantifiers, none of them around a group and no back-references, on a short text.
 */
export function isHarmlessPattern(source: string, subject: string): boolean {
  if (subject.length > longestSubject || source.length > 200) return false;
  const plain = source.replace(/\\[^1-9k]/g, 'x').replace(/\[(?:\\.|[^\]])*\]/g, 'x');
  if (/\\[1-9k]/.test(plain)) return false;
  const unbounded = [...plain.matchAll(/[+*]|\{\d+,\d*\}/g)];
  // A group that holds a quantifier, or an alternative, and is repeated itself is where time explodes.
  const isNested = /[+*,|?][^()]*\)\)*(?:[+*]|\{\d+,)/.test(plain);
  return unbounded.length <= mostRepetitions && !isNested;
}
