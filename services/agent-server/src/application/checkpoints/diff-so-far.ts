import { readFile } from 'node:fs/promises';
import { inlinePatchBytes } from '@lemniscate/shared/protocol/session-result.ts';
import type { TakeCheckpoint } from '@lemniscate/shared/protocol/checkpoint.ts';
import { uploadFile } from '../upload-file.ts';
import type { TakeCheckpointDeps } from './take-checkpoint.ts';

type DiffSoFar = Pick<TakeCheckpoint, 'diff' | 'patch'>;

/**
 * What the session has changed up to here, for the person if it is lost for good. A checkpoint stands without it: a
 * workspace that cannot be compared is stored all the same.
 */
export async function diffSoFar(deps: TakeCheckpointDeps, signal: AbortSignal): Promise<DiffSoFar> {
  try {
    const { summary, patchFile } = await deps.workingCopy.diff(signal);
    if (summary.bytes === 0) return {};
    if (summary.bytes <= inlinePatchBytes) {
      const patch = await readFile(patchFile);
      return { diff: summary, patch: { kind: 'inline', base64: patch.toString('base64') } };
    }
    const { uploadId } = await uploadFile(
      deps,
      { file: patchFile, sha256: summary.sha256, bytes: summary.bytes },
      signal,
    );
    return { diff: summary, patch: { kind: 'upload', uploadId } };
  } catch (error) {
    signal.throwIfAborted();
    deps.log.warn({ ...deps.held, err: error }, 'a checkpoint is without its diff');
    return {};
  }
}
