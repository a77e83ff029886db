import { judgeCommand } from './command/judge-command.ts';
import type { CommandJudgement } from './command/judgement.ts';
import type { Policy } from './policy.ts';
import { isStricter } from './verdict.ts';
import type { CommandVerdict, Verdict } from './verdict.ts';

/** What the tool's own value makes of every command, at the least. */
const leastVerdicts: Readonly<Record<Verdict, CommandVerdict>> = {
  disabled: 'disabled',
  allowedWithPermission: 'ask',
  allowedWithoutPermission: 'allow',
};

/**
 * What a draft of a policy says of a command that was run before. `free` stands for the draft's own free commands where
 * it is given. A value that the draft writes for `run_command` hardens, as it does in a session; one that it leaves out
 * says nothing about the draft, and does not.
 */
export function replayCommand(
  command: string,
  policy: Policy | undefined,
  free: readonly string[] | undefined,
): CommandJudgement {
  const judged = judgeCommand(command, {
    free: free ?? policy?.freeCommands ?? [],
    approval: policy?.approvalCommands ?? [],
    flagged: policy?.flaggedPaths ?? [],
  });
  const value = policy?.tools['run_command'];
  const least = value === undefined ? 'allow' : leastVerdicts[value];
  if (!isStricter(least, judged.verdict)) return judged;
  const reason = `the policy's value for run_command is ${value}`;
  return {
    verdict: least,
    pieces: [...judged.pieces, { text: command.slice(0, 200), verdict: least, reason }],
  };
}
