import { plainGitWords } from './hardening/git-words.ts';
import { spend } from './scope.ts';
import { createScope } from './scope.ts';
import type { Shared } from './scope.ts';
import { readScript } from './syntax/bash-syntax.ts';
import { hasUnknown } from './syntax/marks.ts';
import { wordFields } from './syntax/word-values.ts';
import type { CommandRules } from './judgement.ts';

/** The first words of commands, by their first word. */
export type Prefixes = ReadonlyMap<string, readonly (readonly string[])[]>;

/** An administrator's rules, ready to be compared. */
export interface FreeCommands {
  readonly free: Prefixes;
  readonly approval: Prefixes;
  /** Patterns of paths to which a write needs an approval. */
  readonly flagged: readonly string[];
}

const known = new WeakMap<CommandRules, FreeCommands>();

/** Reads the rules once for each rules object. */
export function readRules(rules: CommandRules): FreeCommands {
  const found = known.get(rules);
  if (found !== undefined) return found;
  const made = {
    free: prefixesOf(rules.free),
    approval: prefixesOf(rules.approval),
    flagged: rules.flagged ?? [],
  };
  known.set(rules, made);
  return made;
}

function prefixesOf(texts: readonly string[]): Prefixes {
  const prefixes = new Map<string, (readonly string[])[]>();
  for (const text of texts) {
    const words = withoutLooks(prefixWords(text));
    const first = words[0];
    // a prefix of no words would cover everything; one with an expansion covers what nobody knows
    if (first === undefined || words.some(hasUnknown)) continue;
    const same = prefixes.get(first);
    if (same === undefined) prefixes.set(first, [words]);
    else same.push(words);
  }
  return prefixes;
}

/** Without git's harmless options, as commands are compared; nothing but options stays as it is. */
function withoutLooks(words: readonly string[]): readonly string[] {
  if (words[0] !== 'git') return words;
  const plain = plainGitWords(words);
  return plain.length > 1 ? plain : words;
}

/** A prefix is read as the shell reads a command, so that its quotes mean the same; else it is split at blanks. */
function prefixWords(text: string): string[] {
  const plain = text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (!/["'\\*?~{}[\]$`]/.test(text) || plain.length === 1) return plain;
  try {
    const statement = readScript(text).commands;
    const command = statement.length === 1 ? statement[0]?.command : undefined;
    if (command?.type !== 'Command' || command.name === undefined || command.prefix.length > 0) return plain;
    if (command.redirects.length > 0) return plain;
    const scope = createScope(text, { free: new Map(), approval: new Map(), flagged: [] });
    return [command.name, ...command.args].flatMap((word) =>
      word.type === 'Word' ? (wordFields(word, scope)[0] ?? []) : [word.text],
    );
  } catch (error) {
    // a prefix that is no command is compared as it stands
    if (error instanceof Error) return plain;
    throw error;
  }
}

/**
 * How many words the longest prefix covers that the command begins with, word by word; 0 for none.
 * @param shared pays for the comparison
 */
export function coveredWords(prefixes: Prefixes, words: readonly string[], shared: Shared): number {
  const candidates = prefixes.get(words[0] ?? '');
  if (candidates === undefined) return 0;
  spend(shared, candidates.length);
  let longest = 0;
  for (const prefix of candidates)
    if (
      prefix.length > longest &&
      prefix.length <= words.length &&
      prefix.every((word, at) => word === words[at])
    )
      longest = prefix.length;
  return longest;
}
