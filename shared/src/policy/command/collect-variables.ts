import { builtinOf, collectRead, readers } from './collect-read.ts';
import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { forEachChild } from './syntax/bash-syntax.ts';
import type { Assignment, Command, SyntaxNode, Word } from './syntax/bash-syntax.ts';
import { mark } from './syntax/marks.ts';
import { wordFields, wordTexts } from './syntax/word-values.ts';

/** More values than this of one variable are not followed. */
const maxValues = 12;

/**
 * Notes every value that the script gives a variable, wherever that happens: a refusal must not be missed because
 * an assignment stands in a branch or behind its use. Runs twice, so that a value built from another is seen.
 */
export function collectVariables(root: SyntaxNode, scope: Scope): void {
  if (!/[$]/.test(scope.source) || !/=|\b(for|select|set|read|function)\b|\(\)/.test(scope.source)) return;
  const found: Found = {
    functions: /\(\)|\bfunction\b/.test(scope.source) ? functionsOf(root, scope) : new Set(),
    reads: readers.test(scope.source),
  };
  for (let round = 0; round < 2; round += 1) collectFrom(root, scope, found);
}

/** What of the script was looked for once. */
interface Found {
  readonly functions: ReadonlySet<string>;
  /** It has builtins that read into variables. */
  readonly reads: boolean;
}

/** Names that the script gives to functions; what they are called with are their parameters. */
function functionsOf(node: SyntaxNode, scope: Scope): Set<string> {
  spend(scope.shared);
  const found = new Set<string>();
  if (node.type === 'Function') found.add(node.name.value);
  forEachChild(node, (child) => {
    for (const name of functionsOf(child, scope)) found.add(name);
  });
  return found;
}

function collectFrom(node: SyntaxNode, scope: Scope, found: Found): void {
  spend(scope.shared);
  if (node.type === 'Assignment') collectAssignment(node, scope);
  if (node.type === 'For' || node.type === 'Select')
    for (const word of node.wordlist ?? []) add(scope, node.name.value, wordFields(word, scope).flat());
  if (
    node.type === 'ParameterExpansion' &&
    node.operation?.type === 'Default' &&
    node.operation.operator.endsWith('=')
  )
    add(scope, node.parameter, wordTexts(node.operation.operand, scope));
  if (node.type === 'Command') {
    collectDeclared(node.args, scope);
    collectParameters(node, scope, found.functions);
  }
  if (found.reads) collectRead(node, scope, (name, values) => add(scope, name, values));
  forEachChild(node, (child) => collectFrom(child, scope, found));
}

function collectAssignment(node: Assignment, scope: Scope): void {
  if (node.value.type === 'ArrayValue')
    add(
      scope,
      node.name,
      node.value.elements.flatMap((word) => wordFields(word, scope).flat()),
    );
  else add(scope, node.name, wordTexts(node.value, scope));
  if (node.append === true) add(scope, node.name, joined(scope, node));
}

/** `x+=b` after `x=a` holds `ab`. */
function joined(scope: Scope, node: Assignment): string[] {
  if (node.value.type === 'ArrayValue') return [];
  const tails = wordTexts(node.value, scope);
  return (scope.shared.variables.get(node.name) ?? []).flatMap((head) => tails.map((tail) => head + tail));
}

/** `set -- A B` and `f A B` of a function: what `$1`, `$2`, `"$@"` may be. */
function collectParameters(command: Command, scope: Scope, functions: ReadonlySet<string>): void {
  const { name, args } = builtinOf(command);
  const isSet = name === 'set';
  if (!isSet && !functions.has(name)) return;
  const from = isSet ? args.findIndex((arg) => arg.text === '--') + 1 : 0;
  if (isSet && from === 0) return;
  const values = args
    .slice(from, from + maxValues)
    .map((arg) => (arg.type === 'Word' ? wordTexts(arg, scope) : [arg.text]));
  for (const [index, texts] of values.entries()) add(scope, String(index + 1), texts);
  const all = values.map((texts) => texts[0] ?? mark.unknown).join(mark.split);
  if (values.length > 0) for (const list of ['@', '*']) add(scope, list, [all]);
}

/** `export "D=/etc"`: the parser sees a word where bash sees an assignment. */
function collectDeclared(args: readonly (Word | Assignment)[], scope: Scope): void {
  for (const arg of args) {
    const found = arg.type === 'Word' ? /^([A-Za-z_]\w*)\+?=(.*)$/s.exec(arg.value) : null;
    if (found?.[1] !== undefined && arg.type === 'Word' && arg.parts === undefined)
      add(scope, found[1], [found[2] ?? '']);
  }
}

function add(scope: Scope, name: string, values: readonly string[]): void {
  const held = scope.shared.variables.get(name) ?? [];
  const all = [...new Set([...held, ...values])];
  const kept = all.length > maxValues ? [...all.slice(0, maxValues - 1), mark.unknown] : all;
  scope.shared.variables.set(name, kept);
}
