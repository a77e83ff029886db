// Bidirectional marks, zero-width characters, the byte-order mark and the tag block reorder or hide text.
const deceptive = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u061c\ufeff\u00ad\u180e]|[\u{e0000}-\u{e007f}]/gu;
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Makes text from agents, repositories and commands safe to show: control characters (carriage return and escape
 * among them), bidirectional marks and invisible characters become visible escapes. Line feed and tab stay.
 */
export function makeVisible(text: string): string {
  return text
    .replace(control, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(deceptive, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same on one line: line feed and tab are shown as escapes too. */
export function makeVisibleLine(text: string): string {
  return makeVisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/**
 * JSON on one line that means the same and is safe to show: `JSON.stringify` leaves the controls of eight-bit terminals
 * and whatever reorders or hides text as they are.
 */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(control, escapeUnits).replace(deceptive, escapeUnits);
}

function escapeUnits(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
