import { pathKind } from './paths/path-kind.ts';
import { noteFlagged } from './flagged-writes.ts';
import { isWindowsDevice } from './paths/windows-path.ts';
import { note } from './pieces.ts';
import type { Scope } from './scope.ts';
import type { Redirection } from './syntax/bash-syntax.ts';
import { hasUnknown, isKnown } from './syntax/marks.ts';
import { joinParts, wordTexts } from './syntax/word-values.ts';

/** Judges what a redirection does to files; the commands inside its words are judged by the walk. */
export function judgeRedirection(redirection: Redirection, scope: Scope): void {
  if (redirection.type !== 'Redirect' || redirection.target === undefined) return;
  const text = scope.source.slice(redirection.pos, redirection.end);
  const targets = wordTexts(redirection.target, scope);
  const reads = redirection.operator === '<';
  for (const target of targets) {
    if (reads) {
      if (/^\/dev\/(tcp|udp)\//.test(target)) note(scope, text, 'ask', 'opens a network connection');
      continue;
    }
    if (redirection.operator.endsWith('&') && duplicates(redirection.operator, target)) continue;
    if (isWindowsDevice(redirection.target.text)) note(scope, text, 'refuse', 'writes directly to a disk');
    else judgeWrite(scope, text, target);
  }
}

/** `2>&1`, `>&-`, `3>&1-` only copy or close descriptors; `<&` never opens a file. */
function duplicates(operator: string, target: string): boolean {
  return operator === '<&' || /^(\d+-?|-)$/.test(target);
}

function judgeWrite(scope: Scope, text: string, target: string): void {
  const kind = pathKind(target, scope.cwd);
  if (kind === 'device' || (kind === 'sink' && !isKnown(target)))
    return note(scope, text, 'refuse', 'writes directly under /dev/');
  if (kind === 'sink') return undefined;
  noteFlagged(scope, text, [target]);
  if (hasUnknown(target)) return note(scope, text, 'ask', 'writes a file that is known only when it runs');
  return note(scope, text, 'ask', 'writes a file');
}

/**
 * Whether a redirection feeds the standard input, and the text if it is known.
 * @returns undefined when the standard input is not touched
 */
export function inputOf(
  redirections: readonly Redirection[],
  scope: Scope,
): { readonly text: string | undefined } | undefined {
  let found: { text: string | undefined } | undefined;
  for (const redirection of redirections) {
    const descriptor = redirection.descriptor;
    if (descriptor !== undefined && !(descriptor.type === 'FileDescriptor' && descriptor.value === 0))
      continue;
    if (redirection.type === 'HereString')
      found = {
        text: redirection.target === undefined ? undefined : wordTexts(redirection.target, scope)[0],
      };
    else if (redirection.type === 'HereDoc') {
      const { parts, text } = redirection.body;
      found = { text: parts === undefined ? text : joinParts(parts, scope, true)[0] };
    } else if (redirection.operator.startsWith('<')) found = { text: undefined };
  }
  return found;
}
