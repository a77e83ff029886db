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
  const run = await runProgram({ sandbox, signal }, script(count), 64);
  return run.stdout.toString('utf8').trim() !== '1';
}
