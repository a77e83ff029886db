import { waysOf } from './calls.ts';
import type { Words } from './calls.ts';
import type { Circumstances } from './judge-call.ts';
import { approvalReason, judgeCall, refusalsOnly } from './judge-call.ts';
import { collectVariables } from './collect-variables.ts';
import { judgeExpression, noteEvaluated, noteRead } from './evaluated-values.ts';
import { variableDoubt } from './hardening/variables.ts';
import { joinPath } from './paths/path-kind.ts';
import { drivePath } from './paths/windows-path.ts';
import { note, noteGuarded } from './pieces.ts';
import { printedFiles, printedText } from './printed-text.ts';
import { inputOf, judgeRedirection } from './redirections.ts';
import { branchOff, spend } from './scope.ts';
import type { Scope, StandardInput } from './scope.ts';
import { checkName, readScript } from './syntax/bash-syntax.ts';
import type {
  Assignment,
  Command,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
} from './syntax/bash-syntax.ts';
import { hasUnknown, isKnown, mark } from './syntax/marks.ts';
import { isDynamic, wordTexts } from './syntax/word-values.ts';
import { walkWord } from './walk-words.ts';

type Node = Statement['command'] | SyntaxNode;

/** Judges every command of a script, at any depth, in the order in which they stand. */
export function walkScript(script: ParsedScript, scope: Scope): void {
  for (const statement of script.commands) walk(statement.command, scope);
}

/** Judges a text that a shell is given; unknown parts of it make it ask, and the rest is read all the same. */
export function judgeCode(code: string, scope: Scope, positional?: readonly string[]): void {
  if (!isKnown(code)) note(scope, code, 'ask', 'shell code that is known only when it runs');
  if (hasUnknown(code) && !scope.covered && scope.shared.rules.approval.size > 0)
    noteGuarded(scope, code, approvalReason);
  const source = unmark(code);
  const script = readScript(source);
  const inside = branchOff(scope, { source, depth: scope.depth + 1, positional, certain: new Set() });
  collectVariables(script, inside);
  walkScript(script, inside);
}

const markSources: Readonly<Record<string, string>> = {
  [mark.unknown]: '${_}',
  [mark.star]: '*',
  [mark.any]: '?',
  [mark.home]: '~',
  [mark.split]: ' ',
};

function unmark(code: string): string {
  return code.replace(/[\uE000-\uE004]/g, (char) => markSources[char] ?? char);
}

function walk(node: Node, scope: Scope): void {
  spend(scope.shared);
  switch (node.type) {
    case 'Statement':
      return walk(node.command, scope);
    case 'CompoundList':
      for (const statement of node.commands) walk(statement.command, scope);
      return undefined;
    case 'AndOr':
      for (const [index, command] of node.commands.entries())
        if (index === 0) walk(command, scope);
        else conditionally(scope, () => walk(command, scope));
      return undefined;
    case 'Pipeline':
      return walkPipeline(node, scope);
    case 'Command':
      return walkCommand(node, scope);
    case 'Subshell':
      return walk(node.body, branchOff(scope, { input: inherited(scope.input) }));
    case 'BraceGroup':
      return surrounded(scope, () => walk(node.body, scope));
    case 'Redirected':
      return walkRedirected(node.command, node.redirects, scope);
    case 'If':
      return surrounded(scope, () => {
        walk(node.clause, scope);
        conditionally(scope, () => {
          walk(node.then, scope);
          for (const branch of node.elif) walkAll([branch.clause, branch.then], scope);
          if (node.else !== undefined) walk(node.else, scope);
        });
      });
    case 'While':
      return surrounded(scope, () => conditionally(scope, () => walkAll([node.clause, node.body], scope)));
    case 'For':
    case 'Select':
      return walkFor(node.name, node.wordlist, node.body, scope);
    case 'ArithmeticFor':
      scope.shared.arithmetic = true;
      for (const part of [node.initialize, node.test, node.update]) {
        if (part === undefined) continue;
        noteEvaluated(scope.source.slice(part.pos, part.end), scope);
        judgeExpression(part, scope.source.slice(part.pos, part.end), scope);
        walkWord(part, scope, walkScript);
      }
      return surrounded(scope, () => conditionally(scope, () => walk(node.body, scope)));
    case 'Case':
      walkWord(node.word, scope, walkScript);
      return surrounded(scope, () =>
        conditionally(scope, () => {
          for (const item of node.items) {
            for (const pattern of item.pattern) walkWord(pattern, scope, walkScript);
            walk(item.body, scope);
          }
        }),
      );
    case 'Function':
      walk(node.body, branchOff(scope, { input: { from: 'surroundings' }, conditional: true }));
      if (!scope.conditional && node.name.parts === undefined) scope.functions.add(node.name.value);
      return undefined;
    case 'Coproc':
      return walk(node.body, branchOff(scope, { input: { from: 'surroundings' } }));
    case 'TestCommand':
    case 'ArithmeticCommand':
      return walkWord(node, scope, walkScript);
    default:
      throw new TypeError(`a ${node.type} where a command was expected`);
  }
}

function walkAll(nodes: readonly Node[], scope: Scope): void {
  for (const node of nodes) walk(node, scope);
}

/** Inside a branch nothing is certain for what follows; the working directory is taken to change all the same. */
function conditionally(scope: Scope, body: () => void): void {
  const before = scope.conditional;
  scope.conditional = true;
  body();
  scope.conditional = before;
}

/** What feeds a compound command feeds the commands inside, one after the other. */
function surrounded(scope: Scope, body: () => void): void {
  const before = scope.input;
  scope.input = inherited(before);
  body();
  scope.input = before;
}

function inherited(input: StandardInput): StandardInput {
  return input.from === 'nothing' ? input : { from: 'surroundings' };
}

function walkPipeline(node: Pipeline, scope: Scope): void {
  const only = node.commands.length === 1 ? node.commands[0] : undefined;
  if (only !== undefined) {
    const timed = only.type === 'Command' && node.prefixes.some(({ type }) => type === 'Time');
    return timed ? walkCommand(only, scope, ['time']) : walk(only, scope);
  }
  let input = scope.input;
  for (const command of node.commands) {
    const inside = branchOff(scope, { input });
    walk(command, inside);
    input = { from: 'pipe', text: printedText(command, inside) };
  }
  return undefined;
}

function walkRedirected(command: SyntaxNode, redirects: readonly Redirection[], scope: Scope): void {
  walkRedirections(redirects, scope);
  const fed = inputOf(redirects, scope) !== undefined;
  const before = scope.input;
  if (fed) scope.input = { from: 'surroundings' };
  walk(command, scope);
  scope.input = before;
}

function walkRedirections(redirects: readonly Redirection[], scope: Scope): void {
  for (const redirect of redirects) {
    walkWord(redirect, scope, walkScript);
    judgeRedirection(redirect, scope);
  }
}

function walkFor(name: Word, list: readonly Word[] | undefined, body: SyntaxNode, scope: Scope): void {
  for (const word of list ?? []) walkWord(word, scope, walkScript);
  const doubt = variableDoubt(name.value, mark.unknown);
  if (doubt !== undefined) note(scope, name.text, 'ask', doubt);
  const known = scope.certain.has(name.value);
  if (list !== undefined) scope.certain.add(name.value);
  surrounded(scope, () => conditionally(scope, () => walk(body, scope)));
  if (!known) scope.certain.delete(name.value);
}

function walkCommand(command: Command, scope: Scope, before: readonly string[] = []): void {
  checkName(command, scope.source);
  scope.prints = feeds(command) ? printedText(command, scope) : undefined;
  for (const item of command.prefix) if (item.type === 'Assignment') judgeAssignment(item, scope);
  for (const word of command.name === undefined ? [] : [command.name, ...command.args])
    walkWord(word, scope, walkScript);
  walkRedirections(command.redirects, scope);
  if (command.name === undefined) return settle(command, scope);
  const own = inputOf(command.redirects, scope);
  const files = printedFiles(command, scope);
  const facts: Circumstances = {
    dynamic: isDynamic(command.name),
    fed: own !== undefined,
    text:
      own === undefined
        ? scope.input.from === 'pipe'
          ? scope.input.text
          : undefined
        : (own.text ?? files[0]),
    lead: [...before, ...assigned(command, scope)],
    files,
  };
  const inside = own === undefined ? scope : { ...scope, input: { from: 'nothing' } as const };
  const ways = waysOf(command, scope);
  for (const way of ways) {
    judgeCall(way, inside, facts, judgeCode);
    // a shell that is handed its words on the command line: they are known to whoever reads it
    const handed = facts.dynamic ? handedWords(command.name.text, way, scope.positional) : undefined;
    if (handed !== undefined)
      refusalsOnly(scope, () =>
        judgeCall({ words: handed, raws: handed }, inside, { ...facts, dynamic: false }, judgeCode),
      );
  }
  const words = ways[0]?.words ?? [];
  noteRead(words, scope);
  const whole =
    words.some((word) => /^-[a-zA-Z]*i/.test(word)) && /^(declare|typeset|local)$/.test(words[0] ?? '');
  if (words[0] === 'let' || whole) noteEvaluated(words.slice(1).join(' '), scope);
  if (words[0] === 'let') for (const word of command.args) judgeExpression(word, word.text, scope);
  changeDirectory(ways[0] ?? { words: [], raws: [] }, scope);
  forget(words, scope);
  return undefined;
}

/** Whether `>(…)` among the words reads what the command prints. */
function feeds(command: Command): boolean {
  return (
    command.args.some(({ text }) => text.startsWith('>(')) ||
    command.redirects.some((one) => 'target' in one && one.target?.text.startsWith('>(') === true)
  );
}

/** `NAME=value` in front of a command, as far as the values are known. */
function assigned(command: Command, scope: Scope): string[] {
  return command.prefix.flatMap((item) =>
    item.type === 'Assignment' &&
    item.value.type === 'Word' &&
    item.append !== true &&
    item.index === undefined
      ? [`${item.name}=${wordTexts(item.value, scope)[0] ?? ''}`]
      : [],
  );
}

/** The words of a command whose name is a positional parameter; `"$@"` is all of them. */
function handedWords(
  name: string,
  { words, raws }: Words,
  positional: readonly string[] | undefined,
): readonly string[] | undefined {
  const parameter = /^"?\$\{?([0-9@*])\}?"?$/.exec(name)?.[1];
  if (parameter === undefined || positional === undefined) return undefined;
  const all = positional.slice(1);
  // `"$@"` among the words behind `$0` is every one of them
  const rest = raws
    .slice(1)
    .flatMap((raw, index) => (/^"?\$\{?[@*]\}?"?$/.test(raw) ? all : [words[index + 1] ?? '']));
  return /\d/.test(parameter) ? [words[0] ?? '', ...rest] : [...all, ...rest];
}

/** Builtins after which variables may hold something else than the script's assignments say. */
const rewriters: readonly string[] = ['read', 'mapfile', 'readarray', 'getopts', 'printf', 'wait', 'unset'];
/** After these anything may have changed, functions too. */
const disturbers: readonly string[] = ['source', '.', 'unset', 'unalias', 'enable'];

function forget(words: readonly string[], scope: Scope): void {
  const name = words[0] ?? '';
  if (rewriters.includes(name)) for (const word of words) scope.certain.delete(word);
  if (name === 'declare' || name === 'typeset' || name === 'local') {
    // a name reference writes to another variable
    if (words.some((word) => /^-[a-zA-Z]*n/.test(word))) scope.certain.clear();
    return;
  }
  if (!disturbers.includes(name)) return;
  scope.functions.clear();
  if (name === 'source' || name === '.') scope.certain.clear();
}

function judgeAssignment(assignment: Assignment, scope: Scope): void {
  walkWord(assignment, scope, walkScript);
  const values = assignment.value.type === 'ArrayValue' ? [mark.unknown] : wordTexts(assignment.value, scope);
  for (const value of values) {
    const doubt = variableDoubt(assignment.name, value);
    if (doubt === undefined) continue;
    note(scope, assignment.text, 'ask', doubt);
    // a pager or an ssh command is shell code itself
    const code = value.replace(/^\|[|-]*/, '');
    refusalsOnly(scope, () => judgeCode(code, branchOff(scope, { depth: scope.depth + 1 })));
    return;
  }
}

/** A command of assignments only: what they set is certain from here on. */
function settle(command: Command, scope: Scope): void {
  for (const item of command.prefix) {
    if (item.type !== 'Assignment') continue;
    if (!scope.conditional) scope.certain.add(item.name);
    note(scope, item.text, 'allow', 'sets a variable');
  }
}

/** Follows `cd` and `pushd`: a relative path after them is somewhere else. */
function changeDirectory({ words, raws }: Words, scope: Scope): void {
  if (words[0] === 'popd') scope.cwd = mark.unknown;
  if (words[0] !== 'cd' && words[0] !== 'pushd') return;
  const at = words.findIndex(
    (word, index) =>
      index > 0 && (word === '-' || !word.startsWith('-')) && !(word === '/d' && index + 1 < words.length),
  );
  const target = words[at];
  if (target === '-') scope.cwd = mark.unknown;
  else
    scope.cwd = target === undefined ? mark.home : joinPath(drivePath(raws[at] ?? '') ?? target, scope.cwd);
}
