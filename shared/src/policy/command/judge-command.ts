import type { CommandVerdict } from '../verdict.ts';
import { stricter } from '../verdict.ts';
import { collectVariables } from './collect-variables.ts';
import { readRules } from './free-commands.ts';
import type { CommandJudgement, CommandRules, Piece } from './judgement.ts';
import { note } from './pieces.ts';
import { createScope } from './scope.ts';
import type { Scope } from './scope.ts';
import { readScript, UnreadableScript } from './syntax/bash-syntax.ts';
import { judgeCode, walkScript } from './walk-script.ts';
import { windowsRefusalsIn } from './windows/judge-windows-line.ts';

/** Longest command that is judged, in UTF-16 units; what is longer is not shortened but `disabled`. */
export const maxCommandLength = 100 * 1024;

/**
 * Judges a bash command by reading it, without running anything. It is split into its pieces; each is judged and
 * the strictest verdict is the command's. Whatever cannot be read, is too long or fails on the way is `disabled`.
 * Nothing is thrown. Time is bounded by the length and by a budget of steps.
 */
export function judgeCommand(command: string, rules: CommandRules): CommandJudgement {
  if (command.includes('\0')) return unread(command, 'it holds a NUL character');
  if (command.length > maxCommandLength)
    return unread(command, `it is longer than ${maxCommandLength} characters`);
  try {
    const scope = createScope(command, readRules(rules));
    const script = readScript(command);
    collectVariables(script, scope);
    walkScript(script, scope);
    judgeLatentCode(scope);
    return { verdict: verdictOf(scope.shared.pieces), pieces: scope.shared.pieces };
  } catch (error) {
    if (error instanceof UnreadableScript) return unreadLine(command, error.message);
    return unread(command, error instanceof Error ? error.message : 'the judgement failed');
  }
}

/** What bash cannot parse may be a line of Windows; of that only the refusals are told apart. */
function unreadLine(command: string, reason: string): CommandJudgement {
  const refused = windowsRefusalsIn(command).map((found): Piece => ({ ...found, verdict: 'refuse' }));
  return refused.length > 0 ? { verdict: 'refuse', pieces: refused } : unread(command, reason);
}

/** A script without commands, such as a comment, runs nothing. */
function verdictOf(pieces: readonly Piece[]): CommandVerdict {
  if (pieces.length === 0) return 'allow';
  return pieces.reduce<CommandVerdict>((verdict, piece) => stricter(verdict, piece.verdict), 'allow');
}

/**
 * `x='a[$(id)]'; echo $((x))` runs `id`: bash evaluates the text as arithmetic. Such a text in a script with
 * arithmetic asks, and what it would run is judged.
 */
function judgeLatentCode(scope: Scope): void {
  const { latent, arithmetic } = scope.shared;
  if (!arithmetic) return;
  for (const text of latent) {
    note(scope, text, 'ask', 'a text that runs when it is evaluated as arithmetic');
    for (const found of text.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g))
      judgeCode(found[1] ?? found[2] ?? '', scope);
  }
}

function unread(command: string, reason: string): CommandJudgement {
  const text = command.length > 200 ? `${command.slice(0, 200)}…` : command;
  return { verdict: 'disabled', pieces: [{ text, verdict: 'disabled', reason }] };
}
