import { flaggedPattern } from '@lemniscate/shared/policy/flagged-path.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { BuiltEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import type { Sandbox, SandboxExecution } from '../ports/sandbox-driver.ts';
import { endingOfSandbox } from '../sessions/ending.ts';
import type { FinishedWork } from '../sessions/finish-session.ts';
import type { SessionContext } from '../sessions/session-context.ts';
import { createTextStream } from '../text-stream.ts';
import { uploadFile } from '../upload-file.ts';
import { installedPaths } from './inputs.ts';
import { persistently } from './persistently.ts';
import type { BuildPlan } from './use-environment.ts';

/** A build that prints more has told enough. */
const maxLogBytes = 20 * 1024 * 1024;
/** What a failed build shows of its log. */
const tailCharacters = 4000;

/**
 * What a session does that prepares an environment: runs the text with the network that its policy names, keeps what is
 * there afterwards as one archive, looks through it for secrets, and stores it. A failure at any point leaves nothing.
 * @throws CodedError `environment_failed` with the last lines; the reason of an interruption
 */
export async function buildEnvironment(
  context: SessionContext,
  plan: BuildPlan,
  sandbox: Sandbox,
): Promise<FinishedWork> {
  const { timings, interruption } = context;
  const signal = interruption.work;
  await timings.measure('prepare', () => prepare(context, plan, sandbox, signal));
  await removeInputs(plan, sandbox, signal);
  await sandbox.killCommands();
  const environment = await keep(context, plan, sandbox, signal);
  const megabytes = (environment.archive.bytes / 1024 / 1024).toFixed(1);
  const message = `The environment is ready: ${megabytes} MiB packed, ${environment.installed.length} places in the working copy.`;
  return { ending: { reason: 'finished', message }, diff: null, collected: null, environment };
}

async function prepare(
  context: SessionContext,
  plan: BuildPlan,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<void> {
  const { order, journal } = context;
  const seconds = order.build?.maxSeconds ?? order.commandMaxSeconds;
  const execution = sandbox.run({
    argv: ['bash', '--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', plan.prepare],
    timeoutMs: seconds * 1000,
    maxOutputBytes: maxLogBytes,
    signal,
  });
  const text = createTextStream(journal, (piece) => journal.emit({ type: 'text', turn: 1, text: piece }));
  const tail = await tell(execution, text, signal);
  const end = await execution.end;
  signal.throwIfAborted();
  if (end.cause === 'sandbox_lost') {
    const { message } = endingOfSandbox(await sandbox.ended);
    throw failed(`prepare ended with its sandbox. ${message}`, tail);
  }
  if (end.cause === 'timeout') throw failed(`prepare was not finished after ${seconds} s`, tail);
  if (end.exitCode !== 0)
    throw failed(`prepare ended with ${end.signal ?? `exit code ${end.exitCode}`}`, tail);
}

async function tell(
  execution: SandboxExecution,
  text: ReturnType<typeof createTextStream>,
  signal: AbortSignal,
): Promise<string> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let tail = '';
  for await (const { stream, bytes } of execution.output) {
    const piece = decoders[stream].decode(bytes, { stream: true });
    tail = `${tail}${piece}`.slice(-tailCharacters);
    await text.write(piece, signal);
  }
  text.flush();
  return tail;
}

function failed(why: string, tail: string): CodedError {
  return new CodedError('environment_failed', `${why}. Last lines:\n${tail.trimEnd()}`);
}

/** The working copies that it will lie under have them as they are in their own commits. */
async function removeInputs({ inputs }: BuildPlan, sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  if (inputs.length === 0) return;
  const execution = sandbox.run({
    argv: ['rm', '-rf', '--', ...inputs.map(({ path }) => path)],
    timeoutMs: 60_000,
    maxOutputBytes: 64 * 1024,
    signal,
  });
  let said = '';
  for await (const { bytes } of execution.output) said += Buffer.from(bytes).toString('utf8');
  const { exitCode } = await execution.end;
  signal.throwIfAborted();
  if (exitCode !== 0) throw failed('the lockfiles could not be taken out again', said);
}

async function keep(
  context: SessionContext,
  plan: BuildPlan,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<BuiltEnvironment> {
  const { deps, order, held, timings } = context;
  const { environments, snapshots } = deps;
  const user = sandbox.commandUser;
  await using files = new AsyncDisposableStack();
  const packed = await timings.measure('pack', () =>
    snapshots.pack({ workspace: sandbox.workspaceFolder, home: sandbox.homeFolder, user }, signal),
  );
  files.defer(packed.discard);
  const trees = await timings.measure('unpack', () =>
    environments.keep(order.projectId, packed, user, signal),
  );
  files.defer(trees.release);
  try {
    await timings.measure('scan', () => refuseSecrets(context, trees, signal));
    const installed = await installedPaths(trees.workspace, plan.revisionTree);
    await timings.measure('upload', () =>
      persistently(signal, () => uploadFile({ ...deps, held }, packed, signal)),
    );
    return { key: plan.key, archive: { sha256: packed.sha256, bytes: packed.bytes }, installed };
  } catch (error) {
    await environments.drop(order.projectId, packed.sha256, user);
    throw error;
  }
}

async function refuseSecrets(
  { deps, order }: SessionContext,
  trees: { readonly workspace: string; readonly home: string },
  signal: AbortSignal,
): Promise<void> {
  const allowed = order.build?.allowSecretsIn ?? [];
  const found = (await deps.environments.scan(trees, signal)).filter(
    ({ path }) => flaggedPattern(allowed, path.slice(path.indexOf('/') + 1)) === undefined,
  );
  if (found.length === 0) return;
  const places = found.slice(0, 20).map(({ path, kind }) => `${path} (${kind})`);
  throw new CodedError(
    'environment_failed',
    `The scan for secrets has found ${found.length}: ${places.join(', ')}. Keep them out of prepare, or name files that may look like it in environment.allowSecretsIn.`,
  );
}
