import { findServer } from '../servers/server-row.ts';
import { endWithoutCapacity } from './place-session.ts';
import type { PlaceSessionDeps } from './place-session.ts';

const perTick = 100;

/** Ends what waits for a workstation that has left; one that is only silent may come back. */
export async function endPinned(
  deps: Pick<PlaceSessionDeps, 'database' | 'audit' | 'events' | 'self' | 'signals'>,
  serverId: string,
): Promise<void> {
  if ((await findServer(deps.database, serverId)) !== null) return;
  const waiting = await deps.database.query<{ id: string }>(
    `SELECT session_id AS id FROM outbox WHERE placement_class = 'pinned' AND lane = $1 LIMIT ${perTick}`,
    [serverId],
  );
  for (const { id } of waiting)
    await endWithoutCapacity(
      deps,
      id,
      `No agent server took the session. ${serverId}: the workstation has left.`,
    );
}
