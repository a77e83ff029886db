import { pack } from 'tar-stream';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Attachment } from '@lemniscate/shared/protocol/session-order.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { SessionContext } from './session-context.ts';
import { outlast } from '../outlast.ts';

/** The dispatcher gives a start up before that, and the session goes on elsewhere. */
const storePatienceMs = 120_000;

/** Downloads that run at the same time. */
const atOnce = 24;
/** Addresses that are asked for in one request. */
const addressesAtOnce = 500;
const layMs = 60_000;

/**
 * Part of step 4 of a session (docs/ARCHITECTURE.md): skills and memory into `/home/agent`. What this machine has is
 * not asked for again; every content is checked against its address.
 */
export async function layAttachments(
  context: SessionContext,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<void> {
  const { attachments = [] } = context.order;
  if (attachments.length === 0) return;
  await context.timings
    .measure('attach', () => lay(context, sandbox, attachments, signal))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      if (isCodedError(error, 'sandbox_lost') || isCodedError(error, 'attempt_stale')) throw error;
      const why = isCodedError(error) ? error.message : 'the agent server met a fault of its own';
      throw new CodedError('sandbox_start_failed', `Skills and memory could not be laid: ${why}`, {}, error);
    });
}

async function lay(
  context: SessionContext,
  sandbox: Sandbox,
  attachments: readonly Attachment[],
  signal: AbortSignal,
): Promise<void> {
  const contents = await gather(
    context,
    attachments.flatMap(({ files }) => files),
    signal,
  );
  const archive = pack();
  const extracted = extract(sandbox, archive, signal);
  for (const { folder, files } of attachments) {
    archive.entry({ name: `${folder}/`, type: 'directory', mode: 0o755 });
    for (const { path, sha256, bytes } of files) {
      const content = bytes === 0 ? Buffer.alloc(0) : contents.get(sha256);
      if (content === undefined) throw new Error(`the content of ${path} was not gathered`);
      archive.entry({ name: `${folder}/${path}`, mode: 0o755 }, content);
    }
  }
  archive.finalize();
  await extracted;
}

/** What moving contents needs of a session. */
export interface SyncContext {
  readonly deps: Pick<SessionContext['deps'], 'dispatcher' | 'objectCache' | 'uploadObject'>;
  readonly held: SessionContext['held'];
  readonly order: Pick<SessionContext['order'], 'attachments'>;
}

/** The contents of files by digest: from this machine where it has them, the others from the store, a few at a time. */
export async function gather(
  { deps, held }: SyncContext,
  files: readonly FolderFile[],
  signal: AbortSignal,
): Promise<Map<string, Buffer>> {
  const wanted = new Map(files.filter(({ bytes }) => bytes > 0).map((file) => [file.sha256, file]));
  const contents = new Map<string, Buffer>();
  await inParallel([...wanted.keys()], async (sha256) => {
    const bytes = await deps.objectCache.read(sha256);
    if (bytes !== null) contents.set(sha256, bytes);
  });
  const missing = [...wanted.values()].filter(({ sha256 }) => !contents.has(sha256));
  for (let from = 0; from < missing.length; from += addressesAtOnce) {
    const some = missing.slice(from, from + addressesAtOnce);
    const addresses = await deps.dispatcher.objectAddresses(
      held,
      some.map(({ sha256 }) => sha256),
      signal,
    );
    await inParallel(some, async (file) => {
      const address = addresses[file.sha256];
      if (address === undefined) throw new CodedError('not_found', `The store has no ${file.path} any more.`);
      const pull = (over: AbortSignal) => deps.objectCache.pull(address, file, over);
      contents.set(file.sha256, await outlast(pull, { signal, patienceMs: storePatienceMs }));
    });
  }
  return contents;
}

/** A few at a time; the first failure is thrown when those under way have settled. */
export async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function extract(
  sandbox: Sandbox,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const execution = sandbox.run({
    argv: ['tar', '--extract', '--file=-', '--directory=/home/agent', '--no-same-owner'],
    input: archive,
    timeoutMs: layMs,
    maxOutputBytes: 4096,
    signal,
  });
  let told = '';
  for await (const { bytes } of execution.output) told += Buffer.from(bytes).toString('utf8');
  const end = await execution.end;
  signal.throwIfAborted();
  if (end.exitCode === 0) return;
  if (end.cause === 'sandbox_lost')
    throw new CodedError('sandbox_lost', 'The sandbox ended while it was prepared.');
  throw new CodedError('sandbox_start_failed', `tar in the sandbox says: ${told.slice(0, 1000)}`);
}
