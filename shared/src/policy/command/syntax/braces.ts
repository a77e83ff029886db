import { mark } from './marks.ts';

/** More words than this from one brace expansion are summed up as one of which nothing is known. */
const maxWords = 64;

/**
 * Expands active braces as bash does before any other expansion: `{a,b}c` becomes two words.
 * @returns the words; one unknown word when there would be more than the bound
 */
export function expandBraces(value: string): string[] {
  if (!value.includes(mark.open)) return [value];
  const words = expandFrom(value);
  return words.length > maxWords ? [mark.unknown] : words.map(dropMarks);
}

function expandFrom(value: string): string[] {
  const open = value.indexOf(mark.open);
  if (open < 0) return [value];
  const close = closingOf(value, open);
  if (close < 0) return [value];
  const head = value.slice(0, open);
  const choices = choicesOf(value.slice(open + 1, close));
  const tails = expandFrom(value.slice(close + 1));
  const words: string[] = [];
  for (const choice of choices)
    for (const inner of expandFrom(choice))
      for (const tail of tails) {
        words.push(head + inner + tail);
        if (words.length > maxWords) return words;
      }
  return words;
}

function closingOf(value: string, open: number): number {
  let depth = 0;
  for (let index = open; index < value.length; index += 1) {
    if (value[index] === mark.open) depth += 1;
    if (value[index] !== mark.close) continue;
    depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

function choicesOf(body: string): string[] {
  const choices: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < body.length; index += 1) {
    if (body[index] === mark.open) depth += 1;
    if (body[index] === mark.close) depth -= 1;
    if (body[index] !== mark.comma || depth > 0) continue;
    choices.push(body.slice(start, index));
    start = index + 1;
  }
  if (choices.length > 0) return [...choices, body.slice(start)];
  return (
    rangeOf(body) ?? [`${mark.open}${body}${mark.close}`.replace(mark.open, '{').replace(mark.close, '}')]
  );
}

function rangeOf(body: string): string[] | undefined {
  const letters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?$/.exec(body);
  const numbers = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/.exec(body);
  const found = letters ?? numbers;
  if (found === null) return undefined;
  const point = (text: string | undefined) => (letters ? (text ?? '').charCodeAt(0) : Number(text));
  const first = point(found[1]);
  const last = point(found[2]);
  const step = Math.max(1, Math.abs(Number(found[3] ?? 1)));
  if (Math.abs(last - first) / step >= maxWords) return [mark.unknown];
  const width = letters ? 0 : paddedWidth(found[1] ?? '', found[2] ?? '');
  const words: string[] = [];
  for (let at = 0; at <= Math.abs(last - first); at += step) {
    const value = last >= first ? first + at : first - at;
    words.push(letters ? String.fromCharCode(value) : padded(value, width));
  }
  return words;
}

function paddedWidth(first: string, last: string): number {
  return /^-?0\d/.test(first) || /^-?0\d/.test(last) ? Math.max(first.length, last.length) : 0;
}

function padded(value: number, width: number): string {
  const digits = String(Math.abs(value)).padStart(value < 0 ? width - 1 : width, '0');
  return value < 0 ? `-${digits}` : digits;
}

function dropMarks(value: string): string {
  return value.replaceAll(mark.open, '{').replaceAll(mark.comma, ',').replaceAll(mark.close, '}');
}
