import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { Revision, WorkingCopy } from '../ports/working-copies.ts';
import { abortable } from '../abortable.ts';
import type { SessionContext } from './session-context.ts';

/** Step 4 of a session (docs/ARCHITECTURE.md): the repository into the sandbox' workspace, before its first command. Undo: discarded. */
export async function layWorkingCopy(
  context: SessionContext,
  sandbox: Sandbox,
  signal: AbortSignal,
  fill?: (revision: Revision) => Promise<void>,
): Promise<WorkingCopy> {
  const { deps, order, timings, unwind } = context;
  const laying = deps.workingCopies.lay({
    projectId: order.projectId,
    repository: order.repository,
    folder: sandbox.workspaceFolder,
    ...(order.resume === undefined ? {} : { restoredFrom: order.resume.baseCommit }),
    user: sandbox.commandUser,
    ...(sandbox.layTree === undefined ? {} : { layTree: sandbox.layTree }),
    ...(fill === undefined ? {} : { fill }),
    ...(order.environment?.installed === undefined ? {} : { installed: order.environment.installed }),
    signal,
    deadlineMs: order.startWithinMs,
  });
  // Pushed before it is done: given up half-way, it must have settled before the folder below it goes.
  unwind.push('discard the working copy', async () => {
    const settled = await laying.catch(() => null);
    await settled?.discard();
  });
  return timings.measure('lay', () => abortable(laying, signal));
}
