import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { readLiveAttempt } from '../events/live-attempt.ts';
import { objectKey } from '../ports/object-store.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { FrozenSkill } from './skills.ts';

const addressSeconds = 600;

/**
 * Where a live attempt can read what its session brings along: skills as they were frozen, memory as it was pinned.
 * Everything else of the project is none of a server's business and is left out.
 * @throws CodedError `attempt_stale`
 */
export async function attachmentAddresses(
  deps: { readonly database: Transaction; readonly objects: ObjectStore },
  claim: AttemptClaim,
  digests: readonly string[],
): Promise<Record<string, string>> {
  const { project_id: project } = await readLiveAttempt(deps.database, claim);
  const [row] = await deps.database.query<{ skills: FrozenSkill[]; memory: FolderFile[] | null }>(
    `SELECT s.skills, m.files AS memory FROM sessions s LEFT JOIN memories m
       ON m.agent_id = s.agent AND m.project_id = s.project_id AND m.version = s.memory_version WHERE s.id = $1`,
    [claim.sessionId],
  );
  const brought = [...(row?.skills.flatMap(({ files }) => files) ?? []), ...(row?.memory ?? [])];
  // What has no bytes is no object, whatever digest somebody has named for it.
  const allowed = new Set(brought.filter(({ bytes }) => bytes > 0).map(({ sha256 }) => sha256));
  const wanted = digests.filter((sha256) => allowed.has(sha256));
  const addresses = await Promise.all(
    wanted.map(
      async (sha256) =>
        [sha256, await deps.objects.presignGet(objectKey(project, sha256), addressSeconds)] as const,
    ),
  );
  return Object.fromEntries(addresses);
}
