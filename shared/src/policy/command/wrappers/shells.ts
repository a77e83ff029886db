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
  if (/^\/(dev\/(stdin|fd\/\d+)|proc\/(self|\$\$)\/fd\/\d+)$/.test(first ?? '')) input = true;
  if (!code) return { inner: undefined, readsInput: input || first === undefined };
  if (first === undefined) return { inner: undefined, readsInput: true };
  const given = call.words.slice(index + 1);
  // `$0` is the shell unless it is given
  const positional = given.length > 0 ? given : call.words.slice(0, 1);
  return {
    inner: { from: index, run: { code: first, positional } },
    readsInput: false,
  };
}
