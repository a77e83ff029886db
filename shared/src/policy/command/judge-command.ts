import type { CommandVerdict } from '../verdict.ts';
import { stricter } from '../verdict.ts';
import { collectVariables } from './collect-variables.ts';
import { readRules } from './free-commands.ts';
import { judgeEvaluated } from './evaluated-values.ts';
import { integerName } from './hardening/variables.ts';
import { refusalsOnly } from './judge-call.ts';
import { holdsLatentCode } from './latent-code.ts';
import { neverLate } from './judgement.ts';
import type { CommandJudgement, CommandRules, IsLate, Piece } from './judgement.ts';
import { note } from './pieces.ts';
import { createScope, spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { readScript, UnreadableScript } from './syntax/bash-syntax.ts';
import { judgeCode, walkScript } from './walk-script.ts';
import { windowsRefusalsIn } from './windows/judge-windows-line.ts';

/** Longest command that is judged, in UTF-16 units; what is longer is not shortened but `disabled`. */
export const maxCommandLength = 100 * 1024;

/**
 * Judges a bash command by reading it, without running anything. It is split into its pieces; each is judged and
 * the strictest verdict is the command's. Whatever cannot be read, is too long or fails on the way is `disabled`.
 * Nothing is thrown. Time is bounded by the length, by a budget of steps and by `isLate`.
 */
export function judgeCommand(
  command: string,
  rules: CommandRules,
  isLate: IsLate = neverLate,
): CommandJudgement {
  return judge(command, rules, isLate).judgement;
}

/**
 * Whether the command may do what these rules guard: run one of the approval commands, or write to a flagged path.
 * A command that cannot be judged may do anything.
 */
export function mayDoGuarded(
  command: string,
  rules: Omit<CommandRules, 'free'>,
  isLate: IsLate = neverLate,
): boolean {
  const { judgement, guarded } = judge(command, { free: [], ...rules }, isLate);
  return guarded || judgement.verdict === 'disabled';
}

interface Judged {
  readonly judgement: CommandJudgement;
  readonly guarded: boolean;
}

function judge(command: string, rules: CommandRules, isLate: IsLate): Judged {
  if (command.includes('\0')) return unreadable(command, 'it holds a NUL character');
  if (command.length > maxCommandLength)
    return unreadable(command, `it is longer than ${maxCommandLength} characters`);
  try {
    const scope = createScope(command, readRules(rules), isLate);
    const script = readScript(command);
    collectVariables(script, scope);
    walkScript(script, scope);
    judgeLatentCode(scope);
    judgeEvaluated(scope);
    judgeAsWindows(command, scope);
    const { pieces, guarded } = scope.shared;
    return { judgement: { verdict: verdictOf(pieces), pieces }, guarded: guarded.size > 0 };
  } catch (error) {
    if (error instanceof UnreadableScript) return unguarded(unreadLine(command, error.message));
    return unreadable(command, error instanceof Error ? error.message : 'the judgement failed');
  }
}

/** A drive's path whose last backslash bash takes for an escape: `cd C:\\; del *` is one command to it. */
const escapedEnd = /[a-z]:\\(?:[^\n"'|&;<>]*\\)?(?:[;&|)\s]|$)/i;

/** Such a line is read the way of Windows too; what is refused there is refused. */
function judgeAsWindows(command: string, scope: Scope): void {
  for (const line of command.split('\n')) {
    if (!escapedEnd.test(line)) continue;
    spend(scope.shared, 1 + (line.length >> 4));
    for (const { text, reason } of windowsRefusalsIn(line)) note(scope, text, 'refuse', reason);
  }
}

const unguarded = (judgement: CommandJudgement): Judged => ({ judgement, guarded: false });

const unreadable = (command: string, reason: string): Judged => unguarded(unread(command, reason));

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
  const { latent, arithmetic, variables } = scope.shared;
  if (!arithmetic && !integerName.test(scope.source)) return;
  for (const values of variables.values())
    for (const value of values) if (holdsLatentCode(value)) latent.add(value);
  // what is judged here may note more of the same; that is judged as code already
  const noted = [...latent];
  for (const text of noted) {
    spend(scope.shared, text.length);
    note(scope, text, 'ask', 'a text that runs when it is evaluated as arithmetic');
    for (const found of text.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g))
      refusalsOnly(scope, () => judgeCode(found[1] ?? found[2] ?? '', scope));
    refusalsOnly(scope, () => judgeCode(`: "${text.replace(/["'\\]/g, '')}"`, scope));
  }
}

function unread(command: string, reason: string): CommandJudgement {
  const text = command.length > 200 ? `${command.slice(0, 200)}…` : command;
  return { verdict: 'disabled', pieces: [{ text, verdict: 'disabled', reason }] };
}
