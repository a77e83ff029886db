import { fitsPattern, hasUnknown, isKnown, mark } from '../syntax/marks.ts';
import { harmlessSinks, systemDirectories } from './system-tree.ts';

/**
 * What a path names. `climb`: goes up so far that it may be any of them. `unknown`: begins with an expansion.
 * `contents`: everything directly inside a directory that only itself belongs to the system, as in `/tmp/*`.
 */
export type PathKind =
  | 'root'
  | 'system'
  | 'systemFile'
  | 'home'
  | 'device'
  | 'sink'
  | 'climb'
  | 'unknown'
  | 'contents'
  | 'ordinary';

/** A path without `.`, `..` and empty names. */
interface PlainPath {
  readonly base: 'root' | 'home' | 'here' | 'unknown';
  readonly names: readonly string[];
  /** How many levels above the base it begins. */
  readonly climbs: number;
}

/** Resolves a path value as the shell's programs would, from the working directory as far as it is known. */
export function plainPath(path: string, cwd: string): PlainPath {
  if (path.startsWith(mark.unknown)) return { base: 'unknown', names: [], climbs: 0 };
  const absolute = path.startsWith('/') || path.startsWith(mark.home) ? path : `${cwd}/${path}`;
  if (absolute.startsWith(mark.unknown)) return { ...plainPath(`/${path}`, ''), base: 'unknown' };
  const rooted = absolute.startsWith('/') && !(cwd === '' && !path.startsWith('/'));
  const home = absolute.startsWith(mark.home);
  const base = rooted ? 'root' : home ? 'home' : 'here';
  const names: string[] = [];
  let climbs = 0;
  for (const name of (home ? absolute.slice(1) : absolute).split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.length > 0) names.pop();
    else if (base !== 'root') climbs += 1;
  }
  return { base, names, climbs };
}

/** The path as a text, for the working directory after a `cd`. */
export function joinPath(path: string, cwd: string): string {
  const { base, names, climbs } = plainPath(path, cwd);
  if (base === 'unknown') return mark.unknown;
  const up = Array.from({ length: climbs }, () => '..');
  if (base === 'root') return `/${names.join('/')}`;
  return [...(base === 'home' ? [mark.home] : []), ...up, ...names].join('/');
}

/** Whether the path is a directory for everybody's temporary files itself. */
export function isTemporary(path: string, cwd: string): boolean {
  const { base, names } = plainPath(path, cwd);
  return base === 'root' && /^(private\/)?(var\/)?tmp$/.test(names.join('/'));
}

/** From this many levels up a relative path is taken to have reached the root: workspaces are not deep. */
const climbsToRoot = 3;

/** Says what a path value names. */
export function pathKind(path: string, cwd: string): PathKind {
  const { base, names, climbs } = plainPath(path, cwd);
  // below a directory that is not known, a name is ordinary unless it would be the system's at the root
  if (base === 'unknown')
    return names.length > 0 && kindFromRoot(names) === 'ordinary' ? 'ordinary' : 'unknown';
  if (base === 'root') return kindFromRoot(names);
  if (base === 'home' && climbs > 0) return kindFromRoot(climbs === 1 ? ['home', ...names] : names);
  if (climbs > 0) return kindFromAbove(names, climbs);
  if (base === 'here') return 'ordinary';
  if (names.length === 1 && hasUnknown(names[0] ?? '')) return 'unknown';
  const everything = names.length === 1 && isPattern(names[0] ?? '');
  return names.length === 0 || everything ? 'home' : 'ordinary';
}

function isPattern(name: string): boolean {
  // `*.*` is everything to Windows
  return /^\.?[\uE000-\uE002]+(\.\uE001)?$/.test(name);
}

function kindFromAbove(names: readonly string[], climbs: number): PathKind {
  const kind = kindFromRoot(names);
  if (kind === 'ordinary') return 'ordinary';
  if (climbs >= climbsToRoot) return kind;
  return kind === 'root' ? 'climb' : 'ordinary';
}

function kindFromRoot(names: readonly string[]): PathKind {
  const first = names[0];
  if (first === undefined) return 'root';
  if (hasUnknown(first)) return 'unknown';
  if (names.length === 1 && isPattern(first)) return 'root';
  if (isDrive(names)) return 'root';
  const tops = isKnown(first)
    ? [first]
    : Object.keys(systemDirectories).filter((name) => fitsPattern(first, name));
  return strictest(tops.map((top) => kindBelow(top, names.slice(1))));
}

/** Drives of Windows as they are seen from Git Bash (`/c`) and WSL (`/mnt/c`), and of Cygwin. */
function isDrive(names: readonly string[]): boolean {
  const rest = names[0] === 'mnt' || names[0] === 'cygdrive' ? names.slice(1) : names;
  const [drive, second] = rest;
  if (drive === undefined || !/^[a-z]$/i.test(drive)) return false;
  return (
    rest.length === 1 || (rest.length === 2 && isPattern(second ?? '')) || /^windows$/i.test(second ?? '')
  );
}

const order: readonly PathKind[] = ['root', 'device', 'system', 'systemFile', 'unknown', 'contents', 'sink'];

function strictest(kinds: readonly PathKind[]): PathKind {
  return order.find((kind) => kinds.includes(kind)) ?? 'ordinary';
}

function kindBelow(top: string, below: readonly string[]): PathKind {
  const rule = Object.hasOwn(systemDirectories, top) ? systemDirectories[top] : undefined;
  if (rule === undefined) return 'ordinary';
  if (top === 'dev') return harmlessSinks.test(below.join('/')) ? 'sink' : 'device';
  if (below.length === 0) return 'system';
  const all = below.length === 1 && isPattern(below[0] ?? '');
  if (rule.reach === 'self' && below.length === 1 && hasUnknown(below[0] ?? '')) return 'unknown';
  if (rule.reach === 'self') return all ? (top === 'tmp' ? 'contents' : 'system') : 'ordinary';
  if (rule.reach === 'top') return below.length === 1 ? 'system' : 'ordinary';
  const ordinary = (rule.but ?? []).some((pattern) => isBelow(pattern.split('/'), below));
  return ordinary ? 'ordinary' : 'systemFile';
}

/** `tmp/*` covers everything below tmp but not tmp itself. */
function isBelow(pattern: readonly string[], below: readonly string[]): boolean {
  return (
    below.length >= pattern.length && pattern.every((name, index) => name === '*' || name === below[index])
  );
}
