import { printedText, substitutedTexts } from './printed-text.ts';
import { inputOf } from './redirections.ts';
import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { forEachChild } from './syntax/bash-syntax.ts';
import type { Command, Redirection, SyntaxNode } from './syntax/bash-syntax.ts';

/** Builtins that put what they read into variables. */
export const readers = /\b(read|mapfile|readarray)\b/;

/** Name and words of a command, behind `command`, `builtin` and variables that may be empty. */
export function builtinOf({ name, args }: Command): { name: string; args: Command['args'] } {
  const own = name?.value ?? '';
  if (name === undefined || !/^(command|builtin)$|^\$/.test(own)) return { name: own, args };
  const at = args.findIndex(({ text }) => !text.startsWith('-'));
  const first = args[at];
  return first?.type === 'Word' ? { name: first.value, args: args.slice(at + 1) } : { name: own, args };
}

/** More lines than this of one text are not followed. */
const maxLines = 8;

type Add = (name: string, values: readonly string[]) => void;

/** What `echo /etc | while read x`, `read x <<< /etc`, `< <(find /etc)` put into variables, where the text is known. */
export function collectRead(node: SyntaxNode, scope: Scope, add: Add): void {
  if (node.type === 'Pipeline')
    for (const [index, command] of node.commands.entries()) {
      const before = node.commands[index - 1];
      const text = before === undefined ? undefined : printedText(before, scope);
      if (text !== undefined) fillReaders(command, text, scope, add);
    }
  if (node.type !== 'Command' && node.type !== 'Redirected') return;
  const text = inputOf(node.redirects, scope)?.text ?? fileText(node.redirects, scope);
  if (text !== undefined) fillReaders(node, text, scope, add);
}

function fileText(redirects: readonly Redirection[], scope: Scope): string | undefined {
  const targets = redirects.flatMap((one) =>
    'target' in one && one.target?.text.startsWith('<(') === true ? [one.target] : [],
  );
  return targets.flatMap((target) => substitutedTexts(target, scope))[0];
}

/** Every line goes to each name; with several names each field does, for `IFS` decides which is whose. */
function fillReaders(node: SyntaxNode, text: string, scope: Scope, add: Add): void {
  spend(scope.shared, 1 + (text.length >> 6));
  const builtin = node.type === 'Command' ? builtinOf(node) : undefined;
  if (builtin !== undefined && readers.test(builtin.name)) {
    const names = builtin.args.flatMap((arg) =>
      arg.type === 'Word' && /^[A-Za-z_]\w*$/.test(arg.value) ? [arg.value] : [],
    );
    const lines = text.split(/[\n\0]/);
    const fields = names.length > 1 ? text.split(/\s+/) : [];
    const values = [...new Set([...lines, ...fields])].filter((line) => line !== '').slice(0, maxLines);
    for (const name of names.length > 0 ? names : ['REPLY', 'MAPFILE']) add(name, values);
  }
  forEachChild(node, (child) => fillReaders(child, text, scope, add));
}
