import { judgeCommand } from './command/judge-command.ts';
import { neverLate } from './command/judgement.ts';
import type { IsLate, Piece } from './command/judgement.ts';
import { flaggedPattern } from './flagged-path.ts';
import { requiredPeople } from './four-eyes.ts';
import { toolVerdict } from './policy.ts';
import type { Policy } from './policy.ts';
import { mostRestrictive, stricter, verdictOfCommand } from './verdict.ts';
import type { CommandVerdict, Verdict } from './verdict.ts';

/** A tool call whose arguments have passed the strict parse of the tool's schema. */
export interface ProposedCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What the policy says about a call, with its reasons in the order in which they arose. */
export interface Evaluation {
  readonly verdict: Verdict;
  /** Only for `run_command`. `refuse` and `disabled` both make the verdict `disabled`. */
  readonly commandVerdict?: CommandVerdict;
  readonly reasons: readonly string[];
  readonly pieces?: readonly Piece[];
}

/**
 * The policy as a pure function. The tool's base value comes first; what exactly is asked of the tool is judged
 * second and can only harden it. Any failure on the way is `disabled`, and so is a judgement that takes too long;
 * nothing is thrown.
 */
export function evaluateToolCall(policy: Policy, call: ProposedCall, isLate: IsLate = neverLate): Evaluation {
  try {
    const base = toolVerdict(policy, call.tool);
    const second = hardenForPeople(policy, call, judgeArguments(policy, call, isLate), isLate);
    // what no clock can interrupt counts all the same
    if (isLate()) throw new Error('it took longer than it may');
    return {
      ...second,
      verdict: mostRestrictive([base, second.verdict]),
      // a base value that does not decide would read as a contradiction beside what hardened it
      reasons:
        second.reasons.length > 0 && base !== mostRestrictive([base, second.verdict])
          ? second.reasons
          : [`the policy's value for ${call.tool} is ${base}`, ...second.reasons],
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'not an error object';
    return { verdict: 'disabled', reasons: [`the evaluation of ${call.tool} failed: ${why}`] };
  }
}

const writingTools: readonly string[] = ['write_file', 'edit_file'];

function judgeArguments(policy: Policy, call: ProposedCall, isLate: IsLate): Evaluation {
  if (call.tool === 'run_command') return judgeRun(policy, call.arguments['command'], isLate);
  if (writingTools.includes(call.tool)) return judgeWrite(policy, call.arguments['path']);
  return { verdict: 'allowedWithoutPermission', reasons: [] };
}

function judgeRun(policy: Policy, command: unknown, isLate: IsLate): Evaluation {
  if (typeof command !== 'string') throw new TypeError('the argument command is not a text');
  const rules = {
    free: policy.freeCommands,
    approval: policy.approvalCommands,
    flagged: policy.flaggedPaths,
  };
  const judgement = judgeCommand(command, rules, isLate);
  return {
    verdict: verdictOfCommand[judgement.verdict],
    commandVerdict: judgement.verdict,
    reasons: reasonsOf(judgement.pieces),
    pieces: judgement.pieces,
  };
}

/** What several people have to approve cannot run unasked, whatever else makes it free. */
function hardenForPeople(policy: Policy, call: ProposedCall, judged: Evaluation, isLate: IsLate): Evaluation {
  const people = requiredPeople(policy, call, isLate);
  if (people < 2) return judged;
  return {
    ...judged,
    verdict: mostRestrictive([judged.verdict, 'allowedWithPermission']),
    ...(judged.commandVerdict === undefined
      ? {}
      : { commandVerdict: stricter(judged.commandVerdict, 'ask') }),
    reasons: [...judged.reasons, `${people} people have to approve this`],
  };
}

function judgeWrite(policy: Policy, path: unknown): Evaluation {
  if (typeof path !== 'string') throw new TypeError('the argument path is not a text');
  const pattern = flaggedPattern(policy.flaggedPaths, path);
  if (pattern === undefined) return { verdict: 'allowedWithoutPermission', reasons: [] };
  return {
    verdict: 'allowedWithPermission',
    reasons: [`${path} is under dedicated control (${pattern})`],
  };
}

/** At most this many reasons go into an approval and into the log; a script can have thousands of pieces. */
const maxReasons = 20;

function reasonsOf(pieces: readonly Piece[]): string[] {
  const told = new Set(
    pieces.filter((piece) => piece.verdict !== 'allow').map((piece) => `${piece.verdict}: ${piece.reason}`),
  );
  return [...told].slice(0, maxReasons);
}
