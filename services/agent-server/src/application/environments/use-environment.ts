import { environmentKey } from '@lemniscate/shared/environment/key.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EnvironmentOrder, ResolvedEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import { abortable } from '../abortable.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { Revision } from '../ports/working-copies.ts';
import type { SessionContext } from '../sessions/session-context.ts';
import { cut } from '../text-stream.ts';
import { layInputs, readInputs } from './inputs.ts';
import type { EnvironmentInput } from './inputs.ts';
import { persistently } from './persistently.ts';

/** What a session that prepares an environment has to do. */
export interface BuildPlan {
  readonly key: string;
  readonly prepare: string;
  readonly inputs: readonly EnvironmentInput[];
  /** The commit's files, on the host. */
  readonly revisionTree: string;
}

/**
 * Part of step 4 of a session: the working copy over its project's environment, or for one that prepares it, the
 * lockfiles alone.
 * @returns what is to be built; null for a session that works
 * @throws CodedError `environment_failed`; the reason of an interruption when the session is to wait in the queue
 */
export async function layWithEnvironment(
  context: SessionContext,
  environment: EnvironmentOrder,
  sandbox: Sandbox,
  revision: Revision,
  signal: AbortSignal,
): Promise<BuildPlan | null> {
  const { order, deps, held, interruption } = context;
  const prepare = await prepareText(environment, revision);
  const inputs = await readInputs(revision.tree, environment.lockfiles);
  const key = environmentKey({
    base: await deps.environments.baseOf(order.profile),
    prepare,
    variables: environment.variables,
    inputs: inputs.map(({ path, sha256, executable }) => ({ path, sha256, executable })),
  });
  if (order.build !== undefined) {
    await layInputs(sandbox.workspaceFolder, inputs, sandbox.commandUser);
    return { key, prepare, inputs, revisionTree: revision.tree };
  }
  const resolved = await persistently(signal, () =>
    deps.dispatcher.resolveEnvironment(held, { key, commit: revision.commit }, signal),
  );
  if (resolved.kind === 'failed') throw new CodedError('environment_failed', resolved.message);
  if (resolved.kind === 'parked') {
    interruption.abandon('parked');
    interruption.everything.throwIfAborted();
  }
  if (resolved.kind === 'ready') await layTrees(context, resolved, sandbox, revision, signal);
  else await revision.lay();
  if (resolved.kind === 'without')
    context.journal.emit({
      type: 'notice',
      text: cut(`${resolved.why} The session goes on without it.`, 4096),
    });
  return null;
}

async function prepareText({ prepare }: EnvironmentOrder, revision: Revision): Promise<string> {
  if (typeof prepare === 'string') return prepare;
  const text = await revision.readAt(prepare.revision, prepare.file);
  if (text !== null) return text;
  throw new CodedError(
    'environment_failed',
    `The repository has no ${prepare.file} at ${prepare.revision}, where the policy says that the environment's text is. Name a commit that the branch contains, or put the text into the policy.`,
  );
}

async function layTrees(
  context: SessionContext,
  { environmentId, archive, installed }: Extract<ResolvedEnvironment, { kind: 'ready' }>,
  sandbox: Sandbox,
  revision: Revision,
  signal: AbortSignal,
): Promise<void> {
  const { deps, order, unwind, timings } = context;
  const { environments } = deps;
  const user = sandbox.commandUser;
  const trees = await timings.measure('environment', () =>
    persistently(signal, () => abortable(environments.bring(order.projectId, archive, user, signal), signal)),
  );
  unwind.push('let go of the environment', async () => trees.release());
  await revision.lay({ tree: trees.workspace, installed });
  if (sandbox.layHome !== undefined) await sandbox.layHome(trees.home);
  else {
    await environments.copy(trees.workspace, sandbox.workspaceFolder, user, signal);
    await environments.copy(trees.home, sandbox.homeFolder, user, signal);
  }
  context.journal.emit({
    type: 'notice',
    text: `The environment ${environmentId} lies under the working copy.`,
  });
}
