import { findSecrets } from './redact.ts';
import type { FoundSecret } from './secretlint-rules.ts';

/** A run of characters without a space that is shorter is let through at once: it holds hardly anything of a secret. */
const shortestHeld = 8;
/** Longest run that is waited for, and longest key with a frame: nobody's output waits for more. */
const longestRun = 4_096;
const longestFrame = 16 * 1024;
/** What was let through already and is looked at again: the name before a value, the first letters of a key. */
const remembered = 512;

/** Keys of several lines: how they begin and end. */
const frames = [
  { begin: '-----BEGIN', end: /-----END [A-Z ]+-----/ },
  { begin: 'PuTTY-User-Key-File', end: /Private-MAC: [0-9a-f]{64}/ },
];

/** Redacts a text that comes in pieces. */
export interface StreamRedactor {
  /** @returns what can be shown by now, redacted; the rest waits for what follows */
  write(piece: string): string;
  /** @returns the rest, redacted, with what was held */
  end(): string;
}

/**
 * A redactor that sees a secret whose letters come in several pieces. It holds back what may be the beginning of one: the
 * run of characters at the end, or a key whose frame is still open. Lines and words end, so hardly anything waits.
 */
export function createStreamRedactor(): StreamRedactor {
  let held = '';
  let before = '';

  const letOut = (text: string, wanted: number): string => {
    const offset = before.length;
    const secrets = findSecrets(before + text).map((found) => ({
      ...found,
      from: found.from - offset,
      to: found.to - offset,
    }));
    const straddling = secrets.find(({ from, to }) => from >= 0 && from < wanted && to > wanted);
    // all of it or nothing
    const end = straddling === undefined || wanted === text.length ? wanted : straddling.from;
    held = text.slice(end);
    before = (before + text.slice(0, end)).slice(-remembered);
    return replace(text.slice(0, end), secrets);
  };

  return {
    write: (piece) => {
      const text = held + piece;
      return letOut(text, safeEnd(text));
    },
    end: () => {
      const shown = letOut(held, held.length);
      before = '';
      return shown;
    },
  };
}

/** Where a text can be cut without cutting what may be a secret. */
function safeEnd(text: string): number {
  let run = text.length;
  while (run > 0 && text.charCodeAt(run - 1) > 0x20) run -= 1;
  const length = text.length - run;
  let end = length < shortestHeld || length > longestRun ? text.length : run;
  for (const frame of frames) {
    const begin = text.lastIndexOf(frame.begin);
    if (begin !== -1 && text.length - begin <= longestFrame && !frame.end.test(text.slice(begin)))
      end = Math.min(end, begin);
  }
  return end;
}

function replace(text: string, secrets: readonly FoundSecret[]): string {
  let shown = '';
  let at = 0;
  for (const { kind, from, to } of secrets) {
    // it lies in what was shown before, redacted, or in what is held
    if (to <= 0 || from >= text.length) continue;
    shown += `${text.slice(at, Math.max(0, from))}[secret:${kind}]`;
    at = Math.min(to, text.length);
  }
  return shown + text.slice(at);
}
