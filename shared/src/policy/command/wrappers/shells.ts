import { hasUnknown } from '../syntax/marks.ts';
import type { Call } from '../refused/call.ts';
import type { Inner } from './inner.ts';

/** Shells whose `-c` text is bash, or close enough that its parse tells what it runs. */
export const shells: readonly string[] = [
  'sh',
  'bash',
  'dash',
  'ash',
  'zsh',
  'ksh',
  'ksh93',
  'mksh',
  'rbash',
  'yash',
  'bash5',
  'fish',
  'csh',
  'tcsh',
];

/** Shells of Windows: the rest of the words after the switch is the code. */
const windowsShells: Readonly<Record<string, RegExp>> = {
  cmd: /^["']?\/[ckr]$/i,
  powershell: /^-(c|command)$/i,
  pwsh: /^-(c|command)$/i,
};

const valued = /^[-+][A-Za-z]*[oO]$|^--(rcfile|init-file|command-file)$/;

/** What a shell is told to run by its arguments, and whether it reads its code from the standard input. */
export interface ShellReading {
  readonly inner: Inner | undefined;
  readonly readsInput: boolean;
}

/** Reads the options of a POSIX shell: bash(1), "OPTIONS" and "ARGUMENTS". */
export function readShell(call: Call): ShellReading {
  let code = false;
  let input = false;
  let index = 1;
  for (; index < call.words.length; index += 1) {
    const word = call.words[index] ?? '';
    if (word === '--' || word === '-') {
      index += 1;
      break;
    }
    if (!/^[-+]./.test(word)) break;
    if (word.startsWith('-') && !word.startsWith('--')) {
      if (word.includes('c')) code = true;
      if (word.includes('s')) input = true;
    }
    // an option that nobody knows yet may be -c
    if (hasUnknown(word)) input = true;
    if (valued.test(word)) index += 1;
  }
  const first = call.words[index];
  if (!code) return { inner: undefined, readsInput: input || first === undefined };
  if (first === undefined) return { inner: undefined, readsInput: true };
  return {
    inner: { from: index, run: { code: first, positional: call.words.slice(index + 1) } },
    readsInput: false,
  };
}

/** `cmd /c …`, `powershell -Command …`. */
export function readWindowsShell(call: Call): Inner | undefined {
  const flag = windowsShells[call.name];
  if (flag === undefined) return undefined;
  const at = call.raws.findIndex((raw, index) => index > 0 && flag.test(raw));
  // without a switch, powershell's first operand is the code
  const from = at >= 0 ? at + 1 : call.name === 'cmd' ? call.words.length : firstOperand(call);
  if (from >= call.words.length) return undefined;
  const rest = call.raws.slice(from);
  const code = rest.length === 1 ? (call.words[from] ?? '') : rest.join(' ');
  return { from, run: { code, windows: true } };
}

function firstOperand(call: Call): number {
  const at = call.words.findIndex((word, index) => index > 0 && !/^[-/]/.test(word));
  return at < 0 ? call.words.length : at;
}
