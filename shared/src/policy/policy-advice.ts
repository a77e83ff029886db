import type { Policy } from './policy.ts';
import { toolVerdict } from './policy.ts';

/** Things in a valid policy that probably are not meant: rules without an effect, and rules that free everything. */
export function policyAdvice(policy: Policy): string[] {
  const advice: string[] = [];
  if (policy.freeCommands.length > 0 && toolVerdict(policy, 'run_command') !== 'allowedWithoutPermission')
    advice.push(
      'freeCommands has no effect: run_command asks before each command. Set tools.run_command to allowedWithoutPermission; commands that are not free still ask.',
    );
  const interpreters = policy.freeCommands.filter((prefix) => runsAnything.test(prefix.trim()));
  if (interpreters.length > 0)
    advice.push(
      `these free commands run anything that the agent writes: ${interpreters.join(', ')}. The sandbox is what bounds them.`,
    );
  const both = policy.freeCommands.filter((prefix) => policy.approvalCommands.includes(prefix));
  if (both.length > 0)
    advice.push(`these commands are free and need approval, so they ask: ${both.join(', ')}.`);
  const shared = policy.freeCommands.filter((free) => isForSeveral(policy, free));
  if (shared.length > 0)
    advice.push(
      `these free commands are, or cover, what several people have to approve, so those ask: ${shared.join(', ')}.`,
    );
  if (policy.flaggedPaths.length === 0)
    advice.push(
      'flaggedPaths is empty: no file is under dedicated control, not even CI configuration and hooks.',
    );
  return advice;
}

/** Whether one is the beginning of the other, word by word. */
function isForSeveral(policy: Policy, free: string): boolean {
  const words = free.trim().split(/\s+/);
  return (policy.fourEyes ?? [])
    .flatMap(({ commands }) => commands)
    .some((command) => {
      const wanted = command.trim().split(/\s+/);
      const common = Math.min(words.length, wanted.length);
      return words.slice(0, common).every((word, index) => word === wanted[index]);
    });
}

const runsAnything = /^(ba|z|da|k)?sh$|^(python|node|perl|ruby|php|deno|bun)\d*$|^(env|xargs|find|npx|make)$/;
