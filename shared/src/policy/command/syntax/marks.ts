/**
 * A word's value is a text in which everything that only the running shell knows is a mark: one character of the
 * private-use area. Texts stay plain strings, so that prefixes, options and paths are compared as strings.
 */
export const mark = {
  /** Any text, also an empty one or one with slashes and blanks. */
  unknown: '\uE000',
  /** `*` of a file name pattern: any text without a slash. */
  star: '\uE001',
  /** `?` or `[…]` of a file name pattern: one character, not a slash. */
  any: '\uE002',
  /** The home directory, from `~` or `$HOME`; only at the beginning. */
  home: '\uE003',
  /** Blank of an unquoted expansion: the word is split here. */
  split: '\uE004',
  /** Active braces and commas of a brace expansion; gone once it is expanded. */
  open: '\uE005',
  comma: '\uE006',
  close: '\uE007',
} as const;

const marks = /[\uE000-\uE007]/;
const allMarks = /[\uE000-\uE007]/g;

/** Literal text of a script; characters that would read as marks are replaced. */
export function literal(text: string): string {
  return marks.test(text) ? text.replace(allMarks, '\uFFFD') : text;
}

/** Whether the value is known to the last character before anything runs. */
export function isKnown(value: string): boolean {
  return !marks.test(value);
}

/** Whether some of the value is text of an expansion that nothing is known about. */
export function hasUnknown(value: string): boolean {
  return value.includes(mark.unknown);
}

const shown: Readonly<Record<string, string>> = {
  [mark.unknown]: '…',
  [mark.star]: '*',
  [mark.any]: '?',
  [mark.home]: '~',
  [mark.split]: ' ',
  [mark.open]: '{',
  [mark.comma]: ',',
  [mark.close]: '}',
};

/** The value for a reader. */
export function showMarks(value: string): string {
  return value.replace(allMarks, (char) => shown[char] ?? char);
}

/** Text of an unquoted expansion: the shell splits it at blanks and reads file name patterns in it. */
export function asUnquoted(text: string): string {
  return text
    .replace(/[ \t\n]+/g, mark.split)
    .replace(/\[[^\][/]*\]|\?/g, mark.any)
    .replaceAll('*', mark.star);
}

/** Whether a name fits a file name pattern of marks. Linear for what scripts hold: one backtracking point. */
export function fitsPattern(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  let index = 0;
  while (index < name.length) {
    const char = pattern[at];
    if (char === mark.star || char === mark.unknown) {
      star = at;
      resume = index;
      at += 1;
    } else if (char === mark.any || char === name[index]) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else return false;
  }
  while (pattern[at] === mark.star || pattern[at] === mark.unknown) at += 1;
  return at === pattern.length;
}
