import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { SessionEnd } from '@lemniscate/shared/session/end.ts';
import type { CollectedFolders } from '@lemniscate/shared/protocol/session-result.ts';
import type { BuiltEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import { collectFolders } from './collect-folders.ts';
import type { SpooledPatch } from '../ports/patch-spool.ts';
import type { Ending } from './ending.ts';
import { cut } from '../text-stream.ts';
import type { SessionContext } from './session-context.ts';
import type { StartedSession } from './start-session.ts';

/** What is left of a session's work when its sandbox is gone. */
export interface FinishedWork {
  readonly ending: Ending;
  readonly diff: { readonly summary: DiffSummary; readonly patch: SpooledPatch } | null;
  /** What the agent kept outside the repository. */
  readonly collected: CollectedFolders | null;
  /** What a session has built that prepares an environment. */
  readonly environment?: BuiltEnvironment;
}

const diffWanted: ReadonlySet<SessionEnd['diff']> = new Set(['yes', 'readable']);

/**
 * Step 7 of a session (docs/ARCHITECTURE.md): the commands are killed and the sandbox is destroyed with its workspace kept, for the host
 * touches a workspace only when nobody can change it under its hands; then the diff is made in a throwaway sandbox and
 * its patch spooled. Undo: the spooled patch is discarded by whoever sends it.
 */
export async function finishSession(
  context: SessionContext,
  started: StartedSession,
  ending: Ending,
): Promise<FinishedWork> {
  const { journal, deps, held, timings } = context;
  journal.emit({ type: 'phase', phase: 'finishing' });
  let collected: CollectedFolders | null = null;
  try {
    collected = await collectFolders(context, started.sandbox, ending);
    await timings.measure('kill', () => started.sandbox.destroy({ keepWorkspace: true }));
    if (!diffWanted.has(sessionEnds[ending.reason].diff)) return { ending, diff: null, collected };
    const made = await timings.measure('diff', () => makeDiff(context, started, ending));
    return { ...made, collected };
  } catch (error) {
    context.interruption.everything.throwIfAborted();
    deps.log.error({ ...held, err: error }, 'the diff could not be made');
    return { ending: withoutDiff(ending, error), diff: null, collected };
  }
}

async function makeDiff(
  { journal, deps, held, interruption }: SessionContext,
  { workingCopy }: StartedSession,
  ending: Ending,
): Promise<Omit<FinishedWork, 'collected'>> {
  const diff = await workingCopy.diff(interruption.everything);
  for (const text of diff.notices) journal.emit({ type: 'notice', text: cut(text, 4096) });
  const patch = await deps.spool.take(held, diff.patchFile);
  return { ending, diff: { summary: diff.summary, patch } };
}

/** Work that was finished but cannot be handed over is not `finished`; an end that already is a failure stays itself. */
function withoutDiff(ending: Ending, error: unknown): Ending {
  const why = isCodedError(error) ? error.message : 'the agent server met a fault of its own';
  const message = `${ending.message}\nThe diff could not be made: ${why}`.trim();
  return { reason: ending.reason === 'finished' ? 'runtime_failed' : ending.reason, message };
}
