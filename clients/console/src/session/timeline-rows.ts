import type { CallItem, TimelineItem } from './timeline.ts';

/** One row of the virtualised timeline. Long output is many rows, so that only what is seen is drawn. */
export type TimelineRow =
  | { readonly kind: 'item'; readonly key: string; readonly item: TimelineItem }
  | {
      readonly kind: 'lines';
      readonly key: string;
      readonly item: CallItem;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: 'more'; readonly key: string; readonly item: CallItem; readonly hidden: number };

/** Lines of output that a call shows while it is folded: its end, where errors stand. */
export const foldedLines = 6;
/** Lines of one row of an unfolded output. */
export const linesPerRow = 50;

/** Rows of a timeline: every item, and below each call its output, folded or whole. */
export function rowsOf(items: readonly TimelineItem[], unfolded: ReadonlySet<string>): TimelineRow[] {
  const rows: TimelineRow[] = [];
  for (const item of items) {
    rows.push({ kind: 'item', key: item.key, item });
    if (item.kind !== 'call' || item.output.lines.length === 0) continue;
    const count = item.output.lines.length;
    const isWhole = unfolded.has(item.key) || count <= foldedLines;
    if (count > foldedLines)
      rows.push({ kind: 'more', key: `${item.key}/more`, item, hidden: isWhole ? 0 : count - foldedLines });
    const from = isWhole ? 0 : count - foldedLines;
    for (let start = from; start < count; start += linesPerRow)
      rows.push({
        kind: 'lines',
        key: `${item.key}/${start}`,
        item,
        from: start,
        to: Math.min(start + linesPerRow, count),
      });
  }
  return rows;
}
