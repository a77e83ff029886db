import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import measure from 'fast-string-truncated-width';

/** Columns of a terminal that a text takes: two for East Asian letters and emoji, none for combining marks. */
export function columnsOf(text: string): number {
  return measure(text).width;
}

/** The text with blanks to so many columns; one that is wider stays whole. */
export function padColumns(text: string, columns: number, side: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, columns - columnsOf(text)));
  return side === 'left' ? `${text}${blanks}` : `${blanks}${text}`;
}

/** The beginning of a text that takes at most so many columns, with `…` where something was cut. */
export function cutColumns(text: string, columns: number): string {
  const ellipsis = '…';
  const { truncated, index } = measure(text, { limit: columns, ellipsis, ellipsisWidth: 1 });
  return truncated ? `${text.slice(0, index)}${ellipsis}` : text;
}

/** What stands in a column: texts to the left, numbers to the right. */
const number = /^(-?\d+(\.\d+)?|–)$/;

/**
 * Lines of a table whose columns stand below each other in a terminal, whatever their letters. Cells come as they are:
 * what would act on the terminal is made visible here.
 * @param head names of the columns, if they are shown
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  head: readonly string[] | null = null,
): string[] {
  const shown = rows.map((row) => row.map(makeVisibleLine));
  const all = head === null ? shown : [head, ...shown];
  const count = Math.max(0, ...all.map((row) => row.length));
  const columns = Array.from({ length: count }, (_, column) => ({
    width: Math.max(...all.map((row) => columnsOf(row[column] ?? ''))),
    side: shown.every((row) => number.test(row[column] ?? '–')) ? ('right' as const) : ('left' as const),
  }));
  return all.map((row) =>
    columns
      .map(({ width, side }, column) => padColumns(row[column] ?? '', width, side))
      .join('  ')
      .trimEnd(),
  );
}

/** Writes a table, a line a row. */
export function writeTable(
  out: { write(text: string): unknown },
  rows: readonly (readonly string[])[],
  head: readonly string[] | null = null,
): void {
  for (const line of tableLines(rows, head)) out.write(`${line}\n`);
}
