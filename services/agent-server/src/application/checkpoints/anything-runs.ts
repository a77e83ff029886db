import type { Sandbox } from '../ports/sandbox-driver.ts';
import { runProgram, script } from '../tools/sandbox-program.ts';

/** Live processes of the commands' user beside this very one; a zombie has no program any more. */
const count = `n=0
for p in /proc/[0-9]*; do [ -O "$p" ] && [ -e "$p/exe" ] && n=$((n + 1)); done
echo $n`;

/**
 * Whether the agent has left something running in the background. It could lie about itself; then it is killed, which
 * is its own loss.
 */
export async function anythingRuns(sandbox: Sandbox, signal: AbortSignal): Promise<boolean> {
  return (await countPrograms(sandbox, signal)) !== 1;
}

/** How many programs of the agent run, the one that counts among them; more than can be where nothing can be counted. */
export async function countPrograms(sandbox: Sandbox, signal: AbortSignal): Promise<number> {
  const run = await runProgram({ sandbox, signal }, script(count), 64);
  const counted = Number(run.stdout.toString('utf8').trim());
  return Number.isInteger(counted) && counted > 0 ? counted : Infinity;
}
