import { commandName } from './command-name.ts';
import type { Call } from './refused/call.ts';
import type { Scope } from './scope.ts';
import { spend } from './scope.ts';
import type { Command, CommandArgument } from './syntax/bash-syntax.ts';
import { mark } from './syntax/marks.ts';
import { wordFields, wordTexts } from './syntax/word-values.ts';
import type { Alternatives } from './syntax/word-values.ts';

/** A command's words in one of the ways in which its variables may turn out. */
export interface Words {
  readonly words: readonly string[];
  readonly raws: readonly string[];
}

/** More ways than this are not tried together; each word is then tried alone. */
const maxWays = 24;

/** All ways in which a simple command's words may turn out; one for a command without variables. */
export function waysOf(command: Command, scope: Scope): Words[] {
  if (command.name === undefined) return [];
  const written: CommandArgument[] = [command.name, ...command.args];
  if (written.every((word) => word.type === 'Word' && word.parts === undefined)) {
    spend(scope.shared, written.length);
    return [
      {
        words: written.flatMap((word) => (word.type === 'Word' ? (wordFields(word, scope)[0] ?? []) : [])),
        raws: written.map((word) => word.text),
      },
    ];
  }
  const choices = written.map((word) => ({ raw: word.text, ways: argumentWays(word, scope) }));
  const count = choices.reduce((product, choice) => product * choice.ways.length, 1);
  spend(scope.shared, Math.min(count, maxWays) * choices.length);
  return count <= maxWays ? product(choices) : oneByOne(choices);
}

interface Choice {
  readonly raw: string;
  readonly ways: Alternatives;
}

function argumentWays(word: CommandArgument, scope: Scope): Alternatives {
  if (word.type === 'Word') return wordFields(word, scope);
  const head = `${word.name}${word.append === true ? '+' : ''}=`;
  if (word.value.type === 'ArrayValue') return [[`${head}(…)`]];
  return wordTexts(word.value, scope).map((text) => [head + text]);
}

function product(choices: readonly Choice[]): Words[] {
  let ways: Building[] = [{ words: [], raws: [] }];
  for (const choice of choices) {
    const [only, second] = choice.ways;
    // one alternative is appended in place: copying would be quadratic in the number of words
    if (second === undefined) for (const way of ways) extend(way, only ?? [], choice.raw);
    else
      ways = ways.flatMap((way) =>
        choice.ways.map((fields) =>
          extend({ words: [...way.words], raws: [...way.raws] }, fields, choice.raw),
        ),
      );
  }
  return ways;
}

/** Every alternative of every word is seen once, beside what the other words most likely are. */
function oneByOne(choices: readonly Choice[]): Words[] {
  const widest = Math.max(...choices.map((choice) => choice.ways.length));
  return Array.from({ length: widest }, (_, turn) => {
    const way: Building = { words: [], raws: [] };
    for (const choice of choices)
      extend(way, choice.ways[turn % choice.ways.length] ?? [mark.unknown], choice.raw);
    return way;
  });
}

interface Building {
  readonly words: string[];
  readonly raws: string[];
}

function extend(way: Building, fields: readonly string[], raw: string): Building {
  way.words.push(...fields);
  if (fields.length === 1) way.raws.push(raw);
  else way.raws.push(...fields);
  return way;
}

/** The call that the words make. */
export function callOf({ words, raws }: Words, cwd: string): Call {
  return { name: commandName(words[0] ?? ''), words, raws, cwd };
}
