/** An edit as the tool `edit_file` wants it: the old text occurs once in the file. */
export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

/** The lines around a range, as few as make them unique in the text. */
export function uniqueLines(text: string, start: number, end: number): readonly [number, number] {
  let from = text.lastIndexOf('\n', start - 1) + 1;
  let to = text.indexOf('\n', end);
  if (to < 0) to = text.length;
  const occursOnce = (): boolean => {
    const part = text.slice(from, to);
    return part !== '' && text.indexOf(part) === text.lastIndexOf(part);
  };
  while (!occursOnce() && (from > 0 || to < text.length)) {
    from = from > 0 ? text.lastIndexOf('\n', from - 2) + 1 : from;
    const next = text.indexOf('\n', to + 1);
    to = next < 0 ? text.length : next;
  }
  return [from, to];
}

/** The smallest edit of whole lines that turns one text into another; undefined when they are the same. */
export function editBetween(before: string, after: string): TextEdit | undefined {
  if (before === after) return undefined;
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const [from, to] = uniqueLines(before, head, before.length - tail);
  return {
    oldText: before.slice(from, to),
    newText: after.slice(from, after.length - (before.length - to)),
  };
}
