import { mirrorKey } from '@lemniscate/shared/repository/mirror-key.ts';
import type { ReservedJob } from '../ports/placement-queue.ts';
import type { Reservation, Wish } from '../ports/reservations.ts';
import type { WaitingSession } from './waiting-sessions.ts';

function operationOf(session: WaitingSession): string {
  return `${session.sessionId}-g${session.generation}-0`;
}

/** What is asked of the ledger for a session. */
export function wishOf(session: WaitingSession, isPinned: boolean): Wish {
  return {
    operation: operationOf(session),
    placementClass: session.placementClass,
    mirror: mirrorKey(session.projectId, session.repository),
    pinned: isPinned ? session.lane : null,
  };
}

/** A session that has a slot, and its job. */
export interface Taken {
  readonly session: WaitingSession;
  readonly job: ReservedJob;
}

/** What came of the sessions whose turn it was. */
export interface Sorted {
  readonly taken: readonly Taken[];
  /** Reservations for sessions that somebody else holds. */
  readonly free: readonly string[];
  /** Lanes of sessions for which the ledger knows no server. */
  readonly unknown: ReadonlySet<string>;
  /** Classes that found no server. */
  readonly full: ReadonlySet<string>;
  /** The ledger knows a server for none of them, which is what a forgetful Redis looks like. */
  readonly blank: boolean;
}

/** @param unlocked outbox rows that nobody else holds */
export function sortOut(
  wished: readonly WaitingSession[],
  reservations: readonly Reservation[],
  unlocked: ReadonlySet<number>,
): Sorted {
  const taken: Taken[] = [];
  const free: string[] = [];
  const unknown = new Set<string>();
  const full = new Set<string>();
  for (const [index, session] of wished.entries()) {
    const reservation = reservations[index];
    if (reservation?.kind === 'empty') unknown.add(session.lane);
    if (reservation?.kind !== 'reserved') {
      full.add(session.placementClass);
      continue;
    }
    const operation = operationOf(session);
    if (!unlocked.has(session.outboxId)) {
      free.push(operation);
      continue;
    }
    const { sessionId, generation, failures, placementClass } = session;
    const job = {
      sessionId,
      generation,
      failures,
      placementClass,
      serverId: reservation.serverId,
      operation,
    };
    taken.push({ session, job });
  }
  return { taken, free, unknown, full, blank: reservations.every(({ kind }) => kind === 'empty') };
}
