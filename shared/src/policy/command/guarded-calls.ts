import { commandName } from './command-name.ts';
import type { Prefixes } from './free-commands.ts';
import type { Call } from './refused/call.ts';
import { spend } from './scope.ts';
import type { Shared } from './scope.ts';
import { fitsPattern, hasUnknown, mark } from './syntax/marks.ts';
import { gitCommandAt, settingOf } from './wrappers/git.ts';

/**
 * Whether a call may be one of the commands that need an approval. A free command is compared word by word, because
 * what it does not name asks; here the doubt falls the other way. The program counts however it is addressed, options
 * and their values may stand between the words, and a word that is known only when it runs may be the one.
 */
export function mayBeGuarded(prefixes: Prefixes, call: Call, shared: Shared): boolean {
  if (prefixes.size === 0) return false;
  const first = call.words[0] ?? '';
  const renamed = call.name === 'git' && setsAlias(call.words);
  for (const [program, candidates] of prefixes) {
    spend(shared, 1);
    if (hasUnknown(first) && mayBecome(first, program)) return true;
    if (!fits(commandName(first), commandName(program))) continue;
    spend(shared, candidates.length * call.words.length);
    if (renamed || candidates.some((prefix) => follows(prefix, call.words))) return true;
  }
  return false;
}

/** An expansion in the name may bring the command's other words along: `$X` may be `git push`. */
function mayBecome(first: string, program: string): boolean {
  const head = first.slice(0, first.indexOf(mark.unknown));
  return head.includes('/') || commandName(program).startsWith(head.toLowerCase());
}

/** `git -c alias.p=push p`: the subcommand is what the setting says. */
function setsAlias(words: readonly string[]): boolean {
  return words.slice(0, gitCommandAt(words)).some((word, index) => {
    const setting = index === 0 ? undefined : settingOf(words[index - 1] ?? '', word);
    return setting !== undefined && (hasUnknown(setting) || /^(alias\.|include)/i.test(setting));
  });
}

/** Whether a word, or what it may turn out to be, is the rule's word. */
function fits(word: string, wanted: string): boolean {
  return word === wanted || fitsPattern(word, wanted) || fitsPattern(wanted, word);
}

/** Whether the words of the rule come one after the other, with nothing but options and their values between. */
function follows(prefix: readonly string[], words: readonly string[]): boolean {
  // places at which the next word of the rule may stand
  let places = new Set([1]);
  const shortens = commandName(words[0] ?? '') === 'npm';
  for (const [index, wanted] of prefix.entries()) {
    if (index === 0) continue;
    if (wanted.startsWith('-')) {
      // options stand in any order
      if (!hasOptionLike(words.slice(Math.min(...places)), wanted)) return false;
      continue;
    }
    const next = new Set<number>();
    const seen = new Set<number>();
    for (const place of places)
      for (const at of reachable(words, place, seen)) {
        const word = words[at] ?? '';
        if (hasUnknown(word) && wanted.startsWith(word.slice(0, word.indexOf(mark.unknown)))) return true;
        // npm takes any beginning of a subcommand that is the only one with it
        const short = shortens && index === 1 && word !== '' && wanted.startsWith(word);
        if (short || fits(word, wanted)) next.add(at + 1);
      }
    if (next.size === 0) return false;
    places = next;
  }
  return true;
}

/** Where the next operand may stand: behind any number of options, each with at most one value of its own. */
function reachable(words: readonly string[], from: number, seen: Set<number>): number[] {
  const found: number[] = [];
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const word = words[at];
    if (word === undefined || seen.has(at)) continue;
    seen.add(at);
    if (!word.startsWith('-') || hasUnknown(word)) found.push(at);
    if (!word.startsWith('-')) continue;
    open.push(at + 1);
    if (!word.includes('=') && word !== '--') open.push(at + 2);
  }
  return found;
}

function hasOptionLike(words: readonly string[], wanted: string): boolean {
  const letters = /^-[A-Za-z]{1,3}$/.test(wanted) ? wanted.slice(1) : '';
  const given = words.filter((word) => /^-[A-Za-z]+$/.test(word)).join('');
  if (letters !== '' && Array.from(letters).every((letter) => given.includes(letter))) return true;
  return words.some(
    (word) =>
      word === wanted ||
      word.startsWith(`${wanted}=`) ||
      (hasUnknown(word) && wanted.startsWith(word.slice(0, word.indexOf(mark.unknown)))),
  );
}
