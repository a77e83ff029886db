import { createHash } from 'node:crypto';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { inlinePatchBytes } from '@lemniscate/shared/protocol/session-result.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import type { DiffFile, DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import { fileFlagsOf } from '@lemniscate/shared/repository/flags.ts';
import type { Transaction } from '../ports/transaction.ts';
import { readUpload } from '../uploads/upload-row.ts';

/** A diff whose bytes are the ones that its summary names: in the row when small, else an object of the project. */
export interface CheckedDiff {
  readonly summary: DiffSummary;
  readonly patch: Buffer | null;
  readonly objectSha256: string | null;
}

/**
 * Checks a result's patch against its summary. The flags are computed here again: what the review warns of must not
 * depend on what a server says.
 * @param policy the one that the session was opened with
 * @returns null when there is nothing to offer
 * @throws CodedError `request_invalid`, `digest_mismatch`, `not_found` (an upload that is not this attempt's)
 */
export async function checkPatch(
  tx: Transaction,
  result: Pick<SessionResult, 'diff' | 'patch'>,
  owner: string,
  policy: Pick<Policy, 'flaggedPaths'>,
): Promise<CheckedDiff | null> {
  const { diff, patch } = result;
  if (diff === null || (diff.bytes === 0 && diff.files.length === 0)) return null;
  if (patch === null)
    throw new CodedError(
      'request_invalid',
      'The result has a diff and no patch. Send it inline or upload it.',
    );
  const summary = {
    ...diff,
    files: diff.files.map((file) => ({ ...file, flags: flagsOf(file, policy.flaggedPaths) })),
  };
  if (patch.kind === 'inline')
    return { summary, patch: decodeInline(patch.base64, diff), objectSha256: null };
  const upload = await readUpload(tx, patch.uploadId, owner);
  if (upload.state !== 'stored' || upload.sha256 !== diff.sha256 || upload.bytes !== diff.bytes)
    throw mismatch(`upload ${upload.id} is ${upload.state} with digest ${upload.sha256}`, diff);
  return { summary, patch: null, objectSha256: upload.sha256 };
}

/** Git's mode of a repository inside the repository. */
const nestedRepository = '160000';

function flagsOf(file: DiffFile, flaggedPaths: readonly string[]): DiffFile['flags'] {
  const flags = fileFlagsOf([file.path, file.previousPath], flaggedPaths);
  if (file.modes?.after !== nestedRepository || flags.includes('nested_git')) return flags;
  return [...flags, 'nested_git'];
}

function decodeInline(base64: string, diff: DiffSummary): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (bytes.byteLength > inlinePatchBytes)
    throw new CodedError('payload_too_large', `A patch of ${bytes.byteLength} bytes has to be uploaded.`);
  if (digest !== diff.sha256 || bytes.byteLength !== diff.bytes)
    throw mismatch(`the patch has ${bytes.byteLength} bytes with digest ${digest}`, diff);
  return bytes;
}

function mismatch(what: string, diff: DiffSummary): CodedError {
  return new CodedError(
    'digest_mismatch',
    `The summary names ${diff.bytes} bytes with digest ${diff.sha256}, but ${what}.`,
  );
}
