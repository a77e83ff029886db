import { foldPath } from './folder.ts';
import type { FolderFile } from './folder.ts';

/** A file of a memory, with the session that wrote it and when. */
export interface MemoryFile extends FolderFile {
  /** Null: a person. */
  readonly session: string | null;
  readonly at: string;
}

export interface MemoryMerge {
  readonly files: readonly MemoryFile[];
  /** Whether anything is different from what was in force. */
  readonly changed: boolean;
  /**
   * Files that both sides had changed, or whose names some file systems take for one: the session's is kept beside, under
   * this name.
   */
  readonly conflicts: readonly { readonly path: string; readonly keptAs: string }[];
}

/**
 * Merges what a session leaves into the memory that is in force by now, file by file against what the session began
 * with. Who alone changed a file is right; where both did, both are kept; a file that one deleted and the other changed
 * stays as changed. A new name that could not stand beside one that others made meanwhile (`Notes.md` and `notes.md`, `a`
 * and `a/b`) is kept under a name that can. Nothing that anybody wrote is lost.
 * @param base what the session was given
 * @param current what is in force now
 */
export function mergeMemory(
  base: readonly FolderFile[],
  current: readonly MemoryFile[],
  session: { readonly id: string; readonly at: string; readonly files: readonly FolderFile[] },
): MemoryMerge {
  const [was, is, left] = [byPath(base), byPath(current), byPath(session.files)];
  const merged = new Map<string, MemoryFile>();
  const conflicts: { path: string; keptAs: string }[] = [];
  const written = (file: FolderFile, path = file.path): MemoryFile => ({
    path,
    sha256: file.sha256,
    bytes: file.bytes,
    session: session.id,
    at: session.at,
  });
  for (const path of new Set([...was.keys(), ...is.keys(), ...left.keys()])) {
    const [before, now, mine] = [was.get(path), is.get(path), left.get(path)];
    if (same(mine, before)) keep(merged, now);
    else if (same(now, before)) keep(merged, mine === undefined ? undefined : written(mine));
    else if (same(now, mine) || mine === undefined) keep(merged, now);
    else if (now === undefined) keep(merged, written(mine));
    else {
      keep(merged, now);
      const keptAs = freeName(path, session.id, (name) => is.has(name) || left.has(name) || merged.has(name));
      keep(merged, written(mine, keptAs));
      conflicts.push({ path, keptAs });
    }
  }
  const all = [...merged.values()];
  const standing = all.filter((file) => same(file, is.get(file.path)));
  const names = besides(standing, session.id, (name) => merged.has(name));
  for (const file of all) {
    const keptAs = standing.includes(file) ? file.path : names(file.path);
    if (keptAs === file.path) continue;
    merged.delete(file.path);
    keep(merged, { ...file, path: keptAs });
    conflicts.push({ path: file.path, keptAs });
  }
  const files = [...merged.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const changed = files.length !== is.size || files.some((file) => !same(file, is.get(file.path)));
  return { files, changed, conflicts };
}

function byPath<File extends FolderFile>(files: readonly File[]): Map<string, File> {
  return new Map(files.map((file) => [file.path, file]));
}

function same(one: FolderFile | undefined, other: FolderFile | undefined): boolean {
  return one?.sha256 === other?.sha256;
}

function keep(merged: Map<string, MemoryFile>, file: MemoryFile | undefined): void {
  if (file !== undefined) merged.set(file.path, file);
}

/**
 * Finds names beside files that stand already: the given one, or where some file system would take it for one of theirs, or
 * for a folder in the place of a file, another.
 */
function besides(
  standing: readonly FolderFile[],
  session: string,
  used: (name: string) => boolean,
): (path: string) => string {
  const taken = new Set(standing.map(({ path }) => foldPath(path)));
  const folders = new Set(standing.flatMap(({ path }) => foldersOf(path).map(foldPath)));
  const renamed = new Map<string, string>();
  return (path) => {
    const [first] = foldersOf(path).filter((folder) => taken.has(foldPath(folder)));
    const clashing = first ?? (taken.has(foldPath(path)) || folders.has(foldPath(path)) ? path : null);
    if (clashing === null) return path;
    const known = renamed.get(clashing);
    const stands = (name: string): boolean => taken.has(foldPath(name)) || folders.has(foldPath(name));
    const free = known ?? freeName(clashing, session, (name) => stands(name) || used(name));
    renamed.set(clashing, free);
    return `${free}${path.slice(clashing.length)}`;
  };
}

/** `a/b/c.md` → `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** `notes/a.md` → `notes/a.conflict-s_01h….md`. */
function freeName(path: string, session: string, taken: (name: string) => boolean): string {
  const dot = path.lastIndexOf('.');
  const cut = dot > path.lastIndexOf('/') + 1 ? dot : path.length;
  for (let turn = 1; ; turn += 1) {
    const name = `${path.slice(0, cut)}.conflict-${session}${turn === 1 ? '' : `-${turn}`}${path.slice(cut)}`;
    if (!taken(name)) return name;
  }
}
