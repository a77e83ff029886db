import { diffWordsWithSpace, parsePatch } from 'diff';

/** A piece of a line: what the two sides have in common, or not. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

/** A line of one side. */
export interface PatchLine {
  readonly number: number;
  readonly change: 'same' | 'deleted' | 'added';
  readonly pieces: readonly Piece[];
}

/** Two lines beside each other; one side is empty where the other has no counterpart. */
export interface PatchRow {
  readonly left: PatchLine | null;
  readonly right: PatchLine | null;
}

export interface PatchHunk {
  readonly header: string;
  readonly rows: readonly PatchRow[];
}

export interface PatchFile {
  readonly path: string;
  readonly hunks: readonly PatchHunk[];
}

/** Words of longer lines are not compared: it takes long and shows nothing. Characters. */
const comparableLine = 400;

/** Reads a git patch into files with their lines side by side. What cannot be read has no hunks. */
export function readPatch(text: string): PatchFile[] {
  return parsePatch(text).map((file) => ({
    path: pathOf(file.newFileName) ?? pathOf(file.oldFileName) ?? '',
    hunks: file.hunks.map((hunk) => ({
      header: `@@ −${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
      rows: pairLines(hunk.lines, hunk.oldStart, hunk.newStart),
    })),
  }));
}

function pathOf(name: string | undefined): string | null {
  if (name === undefined || name === '/dev/null') return null;
  return name.replace(/^[ab]\//, '');
}

/** Puts deleted lines beside the added ones that follow them. */
function pairLines(lines: readonly string[], oldStart: number, newStart: number): PatchRow[] {
  const rows: PatchRow[] = [];
  let left = oldStart;
  let right = newStart;
  let deleted: string[] = [];
  let added: string[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(deleted.length, added.length); index += 1)
      rows.push(changedRow(deleted[index], added[index], left, right, index));
    left += deleted.length;
    right += added.length;
    deleted = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith('-')) {
      // What is deleted after an addition belongs to the next change.
      if (added.length > 0) flush();
      deleted.push(text);
    } else if (line.startsWith('+')) added.push(text);
    else if (line.startsWith(' ')) {
      flush();
      const pieces = [{ text, changed: false }];
      rows.push({
        left: { number: left, change: 'same', pieces },
        right: { number: right, change: 'same', pieces },
      });
      left += 1;
      right += 1;
    }
  }
  flush();
  return rows;
}

function changedRow(
  before: string | undefined,
  after: string | undefined,
  left: number,
  right: number,
  index: number,
): PatchRow {
  const [leftPieces, rightPieces] = comparePieces(before, after);
  return {
    left: before === undefined ? null : { number: left + index, change: 'deleted', pieces: leftPieces },
    right: after === undefined ? null : { number: right + index, change: 'added', pieces: rightPieces },
  };
}

function comparePieces(before: string | undefined, after: string | undefined): [Piece[], Piece[]] {
  const whole = (text: string | undefined): Piece[] => [{ text: text ?? '', changed: false }];
  if (before === undefined || after === undefined) return [whole(before), whole(after)];
  if (before.length > comparableLine || after.length > comparableLine) return [whole(before), whole(after)];
  const parts = diffWordsWithSpace(before, after);
  const common = parts
    .filter((part) => !part.added && !part.removed)
    .reduce((sum, { value }) => sum + value.trim().length, 0);
  // Lines that have hardly a word in common are two different lines, and marks all over would hide that.
  if (common < Math.min(before.trim().length, after.trim().length) / 4) return [whole(before), whole(after)];
  const side = (without: 'added' | 'removed'): Piece[] =>
    parts
      .filter((part) => !part[without])
      .map((part) => ({ text: part.value, changed: part.added || part.removed }));
  return [side('added'), side('removed')];
}
