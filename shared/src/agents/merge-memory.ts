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
  /** Files that both sides had changed: the session's is kept beside, under this name. */
  readonly conflicts: readonly { readonly path: string; readonly keptAs: string }[];
}

/**
 * Merges what a session leaves into the memory that is in force by now, file by file against what the session began
 * with. Who alone changed a file is right; where both did, both are kept; a file that one deleted and the other changed
 * stays as changed. Nothing that anybody wrote is lost.
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

/** `notes/a.md` → `notes/a.conflict-s_01h….md`. */
function freeName(path: string, session: string, taken: (name: string) => boolean): string {
  const dot = path.lastIndexOf('.');
  const cut = dot > path.lastIndexOf('/') + 1 ? dot : path.length;
  for (let turn = 1; ; turn += 1) {
    const name = `${path.slice(0, cut)}.conflict-${session}${turn === 1 ? '' : `-${turn}`}${path.slice(cut)}`;
    if (!taken(name)) return name;
  }
}
