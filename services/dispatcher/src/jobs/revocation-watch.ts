import { endSessionsOfRevoked } from '../application/revocation/revoke.ts';
import type { RevokeDeps } from '../application/revocation/revoke.ts';

export interface RevocationWatchDeps extends RevokeDeps {
  /** Whose answers are open in this process, and how they are broken. */
  readonly openAnswers: { subjects(): string[]; cut(subject: string): void };
}

/** Ends what somebody revoked still has: sessions that an interrupted revocation left, and streams that are open here. */
export async function enforceRevocations(deps: RevocationWatchDeps): Promise<void> {
  await endSessionsOfRevoked(deps);
  const connected = deps.openAnswers.subjects();
  if (connected.length === 0) return;
  const revoked = await deps.database.query<{ subject: string }>(
    'SELECT subject FROM revoked_users WHERE subject = ANY ($1)',
    [connected],
  );
  for (const { subject } of revoked) deps.openAnswers.cut(subject);
}
