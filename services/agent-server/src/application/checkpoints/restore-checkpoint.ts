import { readFile } from 'node:fs/promises';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { ResumeOrder } from '@lemniscate/shared/protocol/checkpoint.ts';
import { abortable } from '../abortable.ts';
import { createBackoff, sleep } from '../backoff.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { ReadableObject, SpooledFile } from '../ports/snapshots.ts';
import type { SessionContext } from '../sessions/session-context.ts';

/** A transcript larger than this was not written by a runtime of ours. */
const maxTranscriptBytes = 256 * 1024 * 1024;

/**
 * Brings back what a checkpoint holds: workspace and home into the sandbox' empty folders, before any command of the
 * session has run in it. Both objects are verified against the digests in the record before anything is unpacked.
 * @returns what the runtime had saved
 * @throws CodedError `storage_failed`, `digest_mismatch`, `checkpoint_unreadable`; the signal's reason
 */
export async function restoreCheckpoint(
  context: SessionContext,
  resume: ResumeOrder,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { deps, timings, unwind } = context;
  const restoring = restore(context, resume, sandbox, signal);
  // The folders that it writes to must not go away under it.
  unwind.push('leave the checkpoint alone', () => restoring.then(() => undefined).catch(() => undefined));
  const saved = await timings.measure('restore', () => abortable(restoring, signal));
  deps.log.info({ ...context.held, checkpoint: resume.number }, 'a checkpoint was restored');
  return saved;
}

async function restore(
  context: SessionContext,
  resume: ResumeOrder,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { snapshots } = context.deps;
  await using files = new AsyncDisposableStack();
  const fetch = async (object: ReadableObject): Promise<SpooledFile> => {
    const file = await download(context, object, signal);
    files.defer(file.discard);
    return file;
  };
  if (resume.transcript.bytes > maxTranscriptBytes)
    throw unreadable(`its transcript has ${resume.transcript.bytes} bytes.`);
  const transcript = await fetch(resume.transcript);
  const saved = parse(await readFile(transcript.file, 'utf8'));
  const archive = await fetch(resume.archive);
  const folders = { workspace: sandbox.workspaceFolder, home: sandbox.homeFolder, user: sandbox.commandUser };
  await snapshots.unpack(archive.file, folders, signal);
  return saved;
}

/** An object store that is away for a while costs time; other bytes than were stored cannot get better. */
async function download(
  { deps, held }: SessionContext,
  object: ReadableObject,
  signal: AbortSignal,
): Promise<SpooledFile> {
  const backoff = createBackoff(200, 5000);
  for (;;) {
    try {
      return await deps.snapshots.download(object, signal);
    } catch (error) {
      if (isCodedError(error, 'digest_mismatch')) throw unreadable(error.message);
      if (!isCodedError(error, 'storage_failed')) throw error;
      deps.log.warn({ ...held, err: error }, 'a checkpoint could not be read; trying again');
      await sleep(backoff.next(), signal);
    }
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw unreadable('its transcript is no JSON.');
  }
}

function unreadable(why: string): CodedError {
  return new CodedError('checkpoint_unreadable', `The checkpoint cannot be read: ${why}`);
}
