import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { WorkingCopy } from '../ports/working-copies.ts';
import { claimSandbox } from './claim-sandbox.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { restoreCheckpoint } from '../checkpoints/restore-checkpoint.ts';
import { openEgress, withCredentials, withEnvironment } from './open-egress.ts';
import { layWithEnvironment } from '../environments/use-environment.ts';
import type { BuildPlan } from '../environments/use-environment.ts';
import { layAttachments } from './lay-attachments.ts';
import { layWorkingCopy } from './lay-working-copy.ts';
import { cut } from '../text-stream.ts';
import type { SessionContext } from './session-context.ts';

/** A session that may begin its work. */
export interface StartedSession {
  readonly sandbox: Sandbox;
  readonly workingCopy: WorkingCopy;
  /** What it has to build, if it does not work. */
  readonly build: BuildPlan | null;
  /** What the runtime had saved; null at the beginning of a session. */
  readonly resumed: JsonValue | null;
}

/**
 * Step 4 of a session as a whole (docs/ARCHITECTURE.md): sandbox, working copy, then `running` is reported. The watchdog was armed when
 * the order arrived, before anything here could hang.
 */
export async function startSession(context: SessionContext): Promise<StartedSession> {
  const { order, journal, timings, interruption } = context;
  const watchdog = new AbortController();
  const timer = setTimeout(() => watchdog.abort(startTimeout(order.startWithinMs)), order.startWithinMs);
  const signal = AbortSignal.any([interruption.work, watchdog.signal]);
  try {
    const { sandbox: claimed, warm } = await tellIfSlow(context, 'booting', claimSandbox(context, signal));
    const { workingCopy, resumed, build } = await tellIfSlow(
      context,
      'preparing',
      fill(context, claimed, signal),
    );
    const sandbox = withCredentials(
      withEnvironment(claimed, { ...order.environment?.variables, ...(await openEgress(context, claimed)) }),
      order.credentials ?? {},
    );
    timings.mark('starting');
    journal.emit({ type: 'running', driver: sandbox.driver, warm, timingsMs: timings.all() });
    for (const text of workingCopy.notices) journal.emit({ type: 'notice', text: cut(text, 4096) });
    context.stillness.bind(claimed);
    return { sandbox, workingCopy, resumed, build };
  } finally {
    clearTimeout(timer);
  }
}

/** The workspace from the repository, or where the session goes on, from its checkpoint. */
async function fill(
  context: SessionContext,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<Pick<StartedSession, 'workingCopy' | 'resumed' | 'build'>> {
  const { resume, environment } = context.order;
  if (environment !== undefined && resume === undefined) {
    let build: BuildPlan | null = null;
    const workingCopy = await layWorkingCopy(context, sandbox, signal, async (revision) => {
      build = await layWithEnvironment(context, environment, sandbox, revision, signal);
    });
    // It has the home folder too, and what is laid there lies on it.
    await layAttachments(context, sandbox, signal);
    return { workingCopy, resumed: null, build };
  }
  const [workingCopy, , resumed] = await Promise.all([
    layWorkingCopy(context, sandbox, signal),
    // A checkpoint has the home folder with what was laid there.
    resume === undefined ? layAttachments(context, sandbox, signal) : null,
    resume === undefined ? null : restoreCheckpoint(context, resume, sandbox, signal),
  ]);
  return { workingCopy, resumed, build: null };
}

/** A phase that is over before a person could read it is not worth a round trip ahead of `running`. */
const slowMs = 100;

async function tellIfSlow<Value>(
  { journal }: SessionContext,
  phase: 'booting' | 'preparing',
  step: Promise<Value>,
): Promise<Value> {
  const timer = setTimeout(() => journal.emit({ type: 'phase', phase }), slowMs);
  try {
    return await step;
  } finally {
    clearTimeout(timer);
  }
}

function startTimeout(ms: number): CodedError {
  return new CodedError(
    'sandbox_start_failed',
    `The session did not start within ${Math.round(ms / 1000)} s. Look at the agent server's log, or raise LEMNISCATE_START_TIMEOUT_MS for very large repositories.`,
  );
}
