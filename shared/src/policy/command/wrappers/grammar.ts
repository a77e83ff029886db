import { isLong } from '../refused/call.ts';

/** How a program that runs another one reads its own words, up to the inner command. */
export interface WrapperGrammar {
  /** Options whose value is the next word, as in `-u NAME`; short ones also carry it in the same word. */
  readonly valued?: readonly string[];
  /** Options that take the next two words. */
  readonly pairs?: readonly string[];
  /** Options without a value; any other that is not known is read both ways. */
  readonly flags?: readonly string[];
  /** Words before the inner command, such as the duration of `timeout`. */
  readonly operands?: number;
  /** The words before the inner command may be missing. */
  readonly optional?: true;
  /** `NAME=value` words may come before the inner command. */
  readonly assignments?: true;
  /** The rest is joined and given to a shell. */
  readonly joins?: true;
  /** Every operand is shell code of its own. */
  readonly each?: true;
  /** Options whose value is shell code. */
  readonly code?: readonly string[];
  /** What an option of `code` names takes the words of the inner command as its arguments. */
  readonly entrypoint?: true;
  /** Options that only look something up; then nothing is run. */
  readonly lookups?: readonly string[];
  /** Without a subcommand, these programs of packages can be named directly. */
  readonly binaries?: readonly string[];
  /** Subcommands after which the inner command comes. */
  readonly after?: readonly string[];
  /** The inner command comes after `--` only. */
  readonly dashes?: true;
  /** A tool in its own right: what it runs need not be free as well, but is never a refused command. */
  readonly tool?: true;
  /** The inner command does not read this command's standard input. */
  readonly ownInput?: true;
}

/** Where the inner command begins, in each possible reading; the first is the likeliest. */
export interface Reading {
  readonly starts: readonly number[];
  readonly codes: readonly { readonly code: string; readonly from: number }[];
  readonly lookup: boolean;
}

/** Reads a wrapper's words. @param begin index of the first word after the name or subcommand */
export function readWrapper(grammar: WrapperGrammar, words: readonly string[], begin: number): Reading {
  const codes: { code: string; from: number }[] = [];
  const doubts: number[] = [];
  let index = begin;
  let operands = grammar.operands ?? 0;
  for (; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (word === '--') {
      index += 1 + operands;
      while (grammar.assignments === true && isAssignment(words[index] ?? '')) index += 1;
      break;
    }
    if ((grammar.lookups ?? []).includes(word)) return { starts: [], codes, lookup: true };
    const code = codeOf(grammar, words, index);
    if (code !== undefined) {
      codes.push(code);
      index = code.from;
      continue;
    }
    // `env -` is `env -i`
    if (word === '-' && grammar.assignments === true) continue;
    if (grammar.pairs?.includes(word) === true) {
      index += 2;
      continue;
    }
    if (isOption(word)) {
      const takes = takesNext(grammar, word);
      if (takes === 'doubt') doubts.push(index + 2);
      if (takes === true) index += 1;
      continue;
    }
    if (grammar.dashes === true) continue;
    if (grammar.assignments === true && isAssignment(word)) continue;
    if (operands === 0) break;
    if (grammar.optional === true) doubts.push(index);
    operands -= 1;
  }
  const sure = index < words.length ? [index] : [];
  const other = doubts.filter((start) => start < words.length && start !== index).slice(0, 4);
  return { starts: [...sure, ...other], codes, lookup: false };
}

function isAssignment(word: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*=/.test(word);
}

function isOption(word: string): boolean {
  return (word.startsWith('-') || /^\+[A-Za-z]$/.test(word)) && word.length > 1;
}

/** Whether the option's value is the next word; `doubt` for a long option that the grammar does not know. */
function takesNext(grammar: WrapperGrammar, word: string): boolean | 'doubt' {
  const valued = grammar.valued ?? [];
  if (valued.includes(word)) return true;
  if (word.startsWith('--')) {
    if (word.includes('=')) return false;
    if (valued.some((option) => option.startsWith('--') && isLong(word, option))) return true;
    return (grammar.flags ?? []).includes(word) ? false : 'doubt';
  }
  for (let at = 1; at < word.length; at += 1)
    if (valued.includes(`-${word[at]}`)) return at === word.length - 1;
  const flags = grammar.flags ?? [];
  if (Array.from(word.slice(1)).every((letter) => flags.includes(`-${letter}`))) return false;
  return /^-\d+$/.test(word) ? false : 'doubt';
}

function codeOf(
  grammar: WrapperGrammar,
  words: readonly string[],
  index: number,
): { code: string; from: number } | undefined {
  const word = words[index] ?? '';
  for (const option of grammar.code ?? []) {
    if (word === option || (option.length === 2 && isCluster(word, option)))
      return words[index + 1] === undefined ? undefined : { code: words[index + 1] ?? '', from: index + 1 };
    if (option.startsWith('--') && word.startsWith(`${option}=`))
      return { code: word.slice(option.length + 1), from: index };
    if (option.length === 2 && word.startsWith(option) && !word.startsWith('--') && word.length > 2)
      return { code: word.slice(2), from: index };
  }
  return undefined;
}

/** `-qc` ends in the letter of `-c`. */
function isCluster(word: string, option: string): boolean {
  return /^-[A-Za-z]+$/.test(word) && word.endsWith(option.slice(1));
}
