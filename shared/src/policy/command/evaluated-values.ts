import { note } from './pieces.ts';
import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { forEachChild } from './syntax/bash-syntax.ts';
import type { Assignment, ParsedScript, SyntaxNode } from './syntax/bash-syntax.ts';

const reason = 'evaluates a text as arithmetic that is known only when it runs';

/** Names in a text that bash evaluates as arithmetic: what they hold is evaluated in turn. */
export function noteEvaluated(text: string, scope: Scope): void {
  spend(scope.shared, 1 + (text.length >> 6));
  // what stands in a substitution is a command and no expression
  const own = text.replace(/\$\([^()]*\)/g, ' ');
  for (const [name] of own.matchAll(/[A-Za-z_]\w*/g)) scope.shared.evaluated.add(name);
}

/** A variable that a program's output went into. */
export function notePrinted(assignment: Assignment, scope: Scope): void {
  if (printsText(assignment.value, scope)) scope.shared.printed.add(assignment.name);
}

/** Variables that `read` and its like fill from somewhere else. */
export function noteRead(words: readonly string[], scope: Scope): void {
  if (!/^(read|mapfile|readarray)$/.test(words[0] ?? '')) return;
  const names = words.slice(1).filter((word) => /^[A-Za-z_]\w*$/.test(word));
  for (const name of names.length === 0 ? ['REPLY', 'MAPFILE'] : names) scope.shared.printed.add(name);
}

/** `$(( $(cat f) ))`: the output itself is the expression. */
export function judgeExpression(node: SyntaxNode, text: string, scope: Scope): void {
  if (printsText(node, scope)) note(scope, text, 'ask', reason);
}

/** A file may hold `a[$(id)]`: a variable filled from one is no number only because it is used as one. */
export function judgeEvaluated(scope: Scope): void {
  const { evaluated, printed } = scope.shared;
  for (const name of printed) if (evaluated.has(name)) note(scope, name, 'ask', reason);
}

function printsText(node: SyntaxNode, scope: Scope): boolean {
  spend(scope.shared);
  if (node.type === 'CommandExpansion' || node.type === 'ArithmeticCommandExpansion')
    return !printsNumber(node.script);
  if (node.type === 'ProcessSubstitution') return false;
  let found = false;
  forEachChild(node, (child) => {
    found ||= printsText(child, scope);
  });
  return found;
}

/** Programs that print a number, or a text that the script holds itself. */
const counting: readonly string[] = [
  'wc',
  'date',
  'nproc',
  'id',
  'seq',
  'expr',
  'stat',
  'tput',
  'getconf',
  'pgrep',
  'bc',
  'shuf',
  'echo',
  'printf',
  'true',
  ':',
];

function printsNumber(script: ParsedScript | undefined): boolean {
  const only = script?.commands.length === 1 ? script.commands[0]?.command : undefined;
  const last = only?.type === 'Pipeline' ? only.commands.at(-1) : only;
  if (last?.type !== 'Command' || last.name === undefined) return false;
  const words = last.args.map(({ text }) => text);
  const name = last.name.value;
  // what `echo` prints may come from a file in turn
  if (name === 'echo' || name === 'printf') return !words.some((word) => /\$\(|`/.test(word));
  if (name === 'grep') return words.some((word) => /^(-[a-zA-Z]*c[a-zA-Z]*|--count)$/.test(word));
  if (name === 'git') return words.includes('--count');
  if (name === 'sed') return words.includes("'$='");
  return counting.includes(name);
}
