/** A command with its arguments, as far as they are known before it runs. */
export interface Call {
  /** What the program is called: no folder, no `.exe`, lower case. */
  readonly name: string;
  /** Values of all words, the name first, with marks for what is not known. */
  readonly words: readonly string[];
  /** The words as written, for what only Windows reads that way. */
  readonly raws: readonly string[];
  /** Working directory as far as it is known. */
  readonly cwd: string;
}

/** Says why a call is refused, or undefined. */
export type Refusal = (call: Call) => string | undefined;

/** The words after the name that are not options: everything after `--`, and what does not begin with `-`. */
export function operandsOf(call: Call): string[] {
  const operands: string[] = [];
  let ended = false;
  for (const word of call.words.slice(1)) {
    if (!ended && word === '--') ended = true;
    else if (ended || !word.startsWith('-') || word === '-') operands.push(word);
  }
  return operands;
}

/** Whether a short option stands alone or in a cluster, or a long one (also cut short) is given. */
export function hasOption(words: readonly string[], short: string, long: string): boolean {
  for (const word of words.slice(1)) {
    if (word === '--') return false;
    if (
      word.startsWith('--')
        ? isLong(word, long)
        : word.startsWith('-') && short !== '' && word.includes(short)
    )
      return true;
  }
  return false;
}

/** `--rec` stands for `--recursive`, as GNU programs allow. */
export function isLong(word: string, long: string): boolean {
  const name = word.split('=', 1)[0] ?? '';
  return long !== '' && name.length > 3 && long.startsWith(name);
}
