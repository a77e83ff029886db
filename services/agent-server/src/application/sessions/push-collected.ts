import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import type { CollectedFolders } from '@lemniscate/shared/protocol/session-result.ts';
import { inParallel } from './lay-attachments.ts';
import type { SyncContext } from './lay-attachments.ts';

/**
 * Part of step 7 of a session (docs/ARCHITECTURE.md): contents that the session did not bring along go to the store,
 * before the result names them. Nothing is changed by that; a crash in here leaves what was.
 */
export async function pushCollected(
  { deps, held, order }: SyncContext,
  collected: CollectedFolders,
  signal: AbortSignal,
): Promise<void> {
  const laid = new Set((order.attachments ?? []).flatMap(({ files }) => files.map(({ sha256 }) => sha256)));
  const changed = new Map<string, FolderFile>();
  for (const file of [...(collected.memory ?? []), ...(collected.files ?? [])])
    if (file.bytes > 0 && !laid.has(file.sha256)) changed.set(file.sha256, file);
  await inParallel([...changed.values()], async ({ sha256, bytes }) => {
    const answer = await deps.dispatcher.requestUpload(held, { sha256, bytes }, signal);
    if (answer.put === null) return;
    const content = await deps.objectCache.read(sha256);
    if (content === null) throw new Error('a collected content is gone from the cache');
    const { file } = await deps.objectCache.keep(content);
    await deps.uploadObject(file, bytes, answer.put, signal);
    await deps.dispatcher.completeUpload(held, answer.uploadId, signal);
  });
}
