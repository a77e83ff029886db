import { openDiff } from '../../application/review/read-patch.ts';
import type { PatchDeps } from '../../application/review/read-patch.ts';

/** A model has no use for more at once. Bytes. */
const shownPatchBytes = 256 * 1024;

/**
 * A session's diff as text; of a long one the beginning, and said so.
 * @throws CodedError `session_unknown`, `diff_missing`, `storage_failed`
 */
export async function readDiffText(deps: PatchDeps, sessionId: string): Promise<Record<string, unknown>> {
  const { diff, patch } = await openDiff(deps, sessionId);
  const { summary, state, accepted_files: acceptedFiles } = diff;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of patch) {
    parts.push(part);
    bytes += part.byteLength;
    if (bytes >= shownPatchBytes) break;
  }
  const truncated = summary.bytes > shownPatchBytes;
  return {
    sessionId,
    state,
    acceptedFiles,
    summary,
    // A cut inside a character leaves a mark instead of a broken text.
    patch: Buffer.concat(parts).subarray(0, shownPatchBytes).toString('utf8').toWellFormed(),
    truncated,
  };
}
