import { endSessionsOfRevoked } from '../application/revocation/revoke.ts';
import type { RevokeDeps } from '../application/revocation/revoke.ts';

export interface RevocationWatchDeps extends RevokeDeps {
  /** Whose answers are open in this process, and how they are broken. */
  readonly openAnswers: { subjects(): string[]; cut(subject: string): void };
}

/** What began before a revocation has committed or failed after so long; from then on nobody revoked gets a session. */
const settledMinutes = 10;

/**
 * Ends what somebody revoked still has: sessions that an interrupted revocation left, and streams that are open here.
 * Who was found to have nothing long after their revocation is not looked at again.
 */
export function createRevocationWatch(deps: RevocationWatchDeps): () => Promise<void> {
  let settledUntil: string | null = null;
  return async () => {
    const [look] = await deps.database.query<{ settled: string }>(
      `SELECT now() - interval '${settledMinutes} minutes' AS settled`,
    );
    const { found } = await endSessionsOfRevoked(deps, settledUntil);
    if (found === 0) settledUntil = look?.settled ?? null;
    await cutStreams(deps);
  };
}

async function cutStreams({ database, openAnswers }: RevocationWatchDeps): Promise<void> {
  const connected = openAnswers.subjects();
  if (connected.length === 0) return;
  const revoked = await database.query<{ subject: string }>(
    'SELECT subject FROM revoked_users WHERE subject = ANY ($1)',
    [connected],
  );
  for (const { subject } of revoked) openAnswers.cut(subject);
}
