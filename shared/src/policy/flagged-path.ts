import { minimatch } from 'minimatch';

/**
 * The first pattern that covers the path, or undefined. The path is read as a working copy's: `.` and `..` are
 * resolved first, an absolute path is matched in every folder of it, so that the mount point need not be known.
 */
export function flaggedPattern(patterns: readonly string[], path: string): string | undefined {
  const names = resolve(path);
  const absolute = path.startsWith('/');
  const candidates = absolute ? names.map((_, index) => names.slice(index).join('/')) : [names.join('/')];
  return patterns.find((pattern) =>
    candidates.some((candidate) =>
      minimatch(candidate, pattern, { dot: true, nocase: true, nocomment: true, nonegate: true }),
    ),
  );
}

function resolve(path: string): string[] {
  const names: string[] = [];
  for (const name of path.split(/[/\\]/)) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names;
}
