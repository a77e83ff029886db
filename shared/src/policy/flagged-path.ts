import { Minimatch } from 'minimatch';

/**
 * The first pattern that covers the path, or undefined. The path is read as a working copy's: `.` and `..` are
 * resolved first, an absolute path is matched in every folder of it, so that the mount point need not be known.
 */
export function flaggedPattern(patterns: readonly string[], path: string): string | undefined {
  const names = resolve(path);
  const whole = [names.join('/')];
  const inEach = path.startsWith('/') ? names.map((_, index) => names.slice(index).join('/')) : whole;
  return matchersOf(patterns).find((matcher) => {
    // such a pattern looks into every folder itself
    const candidates = matcher.pattern.startsWith('**/') ? whole : inEach;
    return candidates.some((candidate) => matcher.match(candidate));
  })?.pattern;
}

const known = new WeakMap<readonly string[], readonly Minimatch[]>();

/** Patterns are read once for each list: a command's judgement compares many paths with it. */
function matchersOf(patterns: readonly string[]): readonly Minimatch[] {
  const found = known.get(patterns);
  if (found !== undefined) return found;
  const options = { dot: true, nocomment: true, nonegate: true };
  const made = patterns.map(
    (pattern) => new Minimatch(pattern, { ...options, nocase: !inCapitals(pattern) }),
  );
  known.set(patterns, made);
  return made;
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
