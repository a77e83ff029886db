import { cut } from '../text-stream.ts';

/** Keeps the beginning and the end of a long text in bounded memory. */
export interface HeadAndTail {
  add(text: string): void;
  /** The text, or its two ends with a line between them that says how much is missing. */
  toString(): string;
}

/** @param length UTF-16 units kept at each end */
export function createHeadAndTail(length: number): HeadAndTail {
  let head = '';
  let tail = '';
  let dropped = 0;
  return {
    add: (text) => {
      const first = cut(text, Math.max(0, length - head.length));
      if (tail === '' && dropped === 0) head += first;
      tail += tail === '' && dropped === 0 ? text.slice(first.length) : text;
      // Trimmed at twice the length, so that many small pieces do not copy the tail each time.
      if (tail.length <= length * 2) return;
      dropped += tail.length - length;
      tail = tail.slice(-length);
    },
    toString: () => {
      const excess = Math.max(0, tail.length - length);
      const end = tail.slice(excess);
      const missing = dropped + excess;
      return (
        missing === 0 ? head + end : `${head}\n…(${missing} characters left out)…\n${end}`
      ).toWellFormed();
    },
  };
}
