import type { DiffFile } from './diff.ts';

/** Part of a diff that a decision is about: these paths, or null for all of it. */
export type Selection = readonly string[] | null;

function isSelected(selection: Selection): (file: DiffFile) => boolean {
  const wanted = selection === null ? null : new Set(selection);
  return ({ path }) => wanted?.has(path) ?? true;
}

/** The selected files under dedicated control. */
export function flaggedFiles(files: readonly DiffFile[], selection: Selection): string[] {
  return files
    .filter(isSelected(selection))
    .filter(({ flags }) => flags.length > 0)
    .map(({ path }) => path);
}

/** The selected files under dedicated control that an acceptance does not name; any of them is no acceptance. */
export function unnamedFlaggedFiles(
  files: readonly DiffFile[],
  selection: Selection,
  named: readonly string[],
): string[] {
  return flaggedFiles(files, selection).filter((path) => !named.includes(path));
}

/** Every path that accepting the selection touches; a renamed file counts under both of its names. */
export function touchedPaths(files: readonly DiffFile[], selection: Selection): string[] {
  const selected = files.filter(isSelected(selection));
  return [
    ...selected.map(({ path }) => path),
    ...selected.flatMap(({ previousPath }) => (previousPath === undefined ? [] : [previousPath])),
  ];
}

/** The files that are rejected with the acceptance of the others. */
export function unselectedPaths(files: readonly DiffFile[], selection: Selection): string[] {
  if (selection === null) return [];
  return files.map(({ path }) => path).filter((path) => !selection.includes(path));
}
