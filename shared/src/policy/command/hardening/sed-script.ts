/** What a sed script may do besides editing the stream. */
export type SedEffect = 'runs code' | 'writes a file';

/**
 * Reads a sed script far enough to tell its commands apart (GNU sed 4.9, "sed script overview").
 * @param codes gets the shell code of `e`, and the replacements that `s///e` runs
 * @returns the effects; `undefined` when the script is not understood
 */
export function sedEffects(script: string, codes: string[] = []): SedEffect[] | undefined {
  const effects: SedEffect[] = [];
  let at = 0;
  while (at < script.length) {
    const rest = script.slice(at);
    const skipped = /^[\s;{}]+/.exec(rest) ?? /^#[^\n]*/.exec(rest);
    if (skipped !== null) {
      at += skipped[0].length;
      continue;
    }
    const address = addressLength(rest);
    const command = rest[address] ?? '';
    const body = rest.slice(address + 1);
    if (command === '{') {
      at += address + 1;
      continue;
    }
    if (command === '') return address === rest.length ? effects : undefined;
    if (command === 's' || command === 'y') {
      const end = delimitedEnd(body, 2);
      if (end === undefined) return undefined;
      const flags = /^[gpiImMe0-9]*(w)?/.exec(body.slice(end)) ?? [''];
      if (command === 's' && flags[0].includes('e')) {
        effects.push('runs code');
        codes.push(body.slice(delimitedEnd(body, 1) ?? end, end - 1));
      }
      const written = body.slice(end + flags[0].length);
      if (
        flags[1] !== undefined &&
        !/^\s*\/dev\/(stdout|stderr)\s*$/m.test(written.slice(0, lineLength(written)))
      )
        effects.push('writes a file');
      at += address + 1 + end + flags[0].length + (flags[1] === undefined ? 0 : lineLength(body.slice(end)));
    } else if (/[aicbtTrRwWev:]/.test(command)) {
      if (command === 'e') {
        effects.push('runs code');
        codes.push(body.slice(0, lineLength(body)));
      }
      if ((command === 'w' || command === 'W') && !/^\s*\/dev\/(stdout|stderr)\s*$/m.test(body))
        effects.push('writes a file');
      const word = wordEnd(command)?.exec(body)?.[0].length;
      at += address + 1 + (word ?? (/[aic]/.test(command) ? textLength(body) : lineLength(body)));
    } else if (/[dDgGhHlnNpPqQxzF=]/.test(command)) {
      at += address + 1 + (/^\s*\d*/.exec(body)?.[0].length ?? 0);
    } else return undefined;
  }
  return effects;
}

/** GNU sed ends a label and a version at a semicolon or a blank; other operands go on to the end of the line. */
function wordEnd(command: string): RegExp | undefined {
  if (/[btT]/.test(command)) return /^[^;\n}]*/;
  return /[:v]/.test(command) ? /^[^\S\n]*[^\s;]*/ : undefined;
}

/** A text goes on behind a line end with a backslash in front. */
function textLength(text: string): number {
  return /^(?:[^\\\n]|\\[^])*/.exec(text)?.[0].length ?? 0;
}

function lineLength(text: string): number {
  const end = text.indexOf('\n');
  return end < 0 ? text.length : end;
}

/** Length of up to two addresses with their `!`. */
function addressLength(text: string): number {
  let at = 0;
  for (let count = 0; count < 2; count += 1) {
    const one = oneAddress(text.slice(at));
    at += one;
    const comma = /^\s*,\s*[~+]?/.exec(text.slice(at));
    if (one === 0 || comma === null) break;
    at += comma[0].length;
  }
  return at + (/^[\s!]*/.exec(text.slice(at))?.[0].length ?? 0);
}

function oneAddress(text: string): number {
  const number = /^(\d+(~\d+)?|\$)/.exec(text);
  if (number !== null) return number[0].length;
  const custom = text.startsWith('\\');
  if (!custom && !text.startsWith('/')) return 0;
  const end = delimitedEnd(custom ? text.slice(1) : text, 1);
  if (end === undefined) return 0;
  const length = end + (custom ? 1 : 0);
  return length + (/^[IM]*/.exec(text.slice(length))?.[0].length ?? 0);
}

/** End of `/a/` (one part) or `/a/b/` (two); the delimiter is the first character. */
function delimitedEnd(text: string, parts: number): number | undefined {
  const delimiter = text[0];
  if (delimiter === undefined || delimiter === '\n' || delimiter === '\\') return undefined;
  let left = parts;
  for (let at = 1; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    // a bracket expression keeps its delimiters, and a `]` that comes first
    else if (char === '[' && left === parts) at = bracketEnd(text, at);
    else if (char === delimiter) {
      left -= 1;
      if (left === 0) return at + 1;
    }
  }
  return undefined;
}

function bracketEnd(text: string, open: number): number {
  const first = text[open + 1] === '^' ? open + 2 : open + 1;
  const close = text.indexOf(']', first + 1);
  const line = text.indexOf('\n', open);
  return close < 0 || (line >= 0 && line < close) ? open : close;
}
