import { mayDoGuarded } from './command/judge-command.ts';
import { neverLate } from './command/judgement.ts';
import type { IsLate } from './command/judgement.ts';
import type { ProposedCall } from './evaluate.ts';
import { flaggedPattern } from './flagged-path.ts';
import type { FourEyesRule } from './policy-parts.ts';
import type { Policy } from './policy.ts';

/** How many different people have to approve a call that asks; of several rules that fit, the strictest counts. */
export function requiredPeople(policy: Policy, call: ProposedCall, isLate: IsLate = neverLate): number {
  return (policy.fourEyes ?? [])
    .filter((rule) => fits(rule, call, isLate))
    .reduce((people, rule) => Math.max(people, rule.people), 1);
}

/** How many different people have to accept a diff that changes these files. */
export function requiredReviewers(policy: Policy, paths: readonly string[]): number {
  return (policy.fourEyes ?? [])
    .filter(
      ({ diffs }) => diffs !== undefined && paths.some((path) => flaggedPattern(diffs, path) !== undefined),
    )
    .reduce((people, rule) => Math.max(people, rule.people), 1);
}

/** Fits what may be meant too: a call that cannot be told apart takes the greater number of people. */
function fits(rule: FourEyesRule, { tool, arguments: args }: ProposedCall, isLate: IsLate): boolean {
  const { command, path } = args;
  if (rule.tools.includes(tool) || rule.tools.includes(`${tool.split('/')[0]}/*`)) return true;
  if (typeof command === 'string' && rule.commands.length + rule.paths.length > 0)
    return mayDoGuarded(command, { approval: rule.commands, flagged: rule.paths }, isLate);
  // Only what writes: reading a file changes nothing that two people would have to answer for.
  const writes = tool === 'write_file' || tool === 'edit_file';
  return writes && typeof path === 'string' && flaggedPattern(rule.paths, path) !== undefined;
}
