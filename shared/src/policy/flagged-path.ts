import { Minimatch } from 'minimatch';

/**
 * The first pattern that covers the path, or undefined. The path is read as a working copy's: `.` and `..` are
 * resolved first, an absolute path is matched in every folder of it, so that the mount point need not be known.
 */
export function flaggedPattern(patterns: readonly string[], path: string): string | undefined {
  const names = resolve(path);
  const inEach = path.startsWith('/') ? names.map((_, index) => names.slice(index)) : [names];
  return matchersOf(patterns).find(({ covers }) => covers(names, inEach))?.pattern;
}

interface Matcher {
  readonly pattern: string;
  /** @param inEach the path's names from the root, and of an absolute one from each of its folders */
  covers(names: string[], inEach: readonly string[][]): boolean;
}

const known = new WeakMap<readonly string[], readonly Matcher[]>();

/** Patterns are read once for each list: a command's judgement compares many paths with it. */
function matchersOf(patterns: readonly string[]): readonly Matcher[] {
  const found = known.get(patterns);
  if (found !== undefined) return found;
  const made = patterns.map(matcherOf);
  known.set(patterns, made);
  return made;
}

/** Most patterns are a name in any folder: it is compared with the last name alone, which is four times as fast. */
function matcherOf(pattern: string): Matcher {
  const name = /^\*\*\/((?:(?!\*\*)[^/])+)$/.exec(pattern)?.[1];
  const { set, matchOne } = boundMatch(name ?? pattern, { nocase: !inCapitals(pattern) });
  const fits = (names: string[]): boolean => set.some((parts) => matchOne(names, parts));
  if (name !== undefined) return { pattern, covers: (names) => names.length > 0 && fits(names.slice(-1)) };
  // such a pattern looks into every folder itself
  if (pattern.startsWith('**/')) return { pattern, covers: (names) => fits(names) };
  return { pattern, covers: (_, inEach) => inEach.some(fits) };
}

function boundMatch(pattern: string, options: { readonly nocase: boolean }) {
  const matcher = new Minimatch(pattern, { dot: true, nocomment: true, nonegate: true, ...options });
  return { set: matcher.set, matchOne: matcher.matchOne.bind(matcher) };
}

/** Bazel's BUILD and WORKSPACE are told by their capitals from the folders that builds write into. */
function inCapitals(pattern: string): boolean {
  return /(^|\/)(BUILD|WORKSPACE)\b[^/]*$/.test(pattern);
}

function resolve(path: string): string[] {
  const names: string[] = [];
  for (const name of path.split(/[/\\]/)) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names;
}
