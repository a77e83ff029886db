import type { Clock } from '@lemniscate/shared/clock.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { harmless } from '../../application/events/harmless.ts';
import type { EventDraft, EventLog } from '../../application/ports/event-log.ts';
import type { LiveEvents } from '../../application/ports/live-events.ts';
import type { Transaction } from '../../application/ports/transaction.ts';

/**
 * The event log in Postgres. Positions come from the session's own row, so they are taken in the order of commits and
 * have no holes: a reader that sees position 7 will never see 6 appear later.
 */
export function createEventLog(deps: { readonly clock: Clock; readonly live: LiveEvents }): EventLog {
  return {
    append: (tx, sessionId, attempt, events) => {
      const at = deps.clock.now().toISOString();
      return insertEvents(
        tx,
        sessionId,
        attempt,
        events.map((event) => ({ event, at })),
      );
    },
    appendDrafts: insertEvents,
    appendPlaced: async (tx, events) => {
      const at = deps.clock.now().toISOString();
      await tx.query(
        `INSERT INTO session_events (session_id, position, attempt, at, type, event)
         SELECT placed.session_id, placed.position, placed.attempt, $4, placed.event ->> 'type', placed.event
         FROM unnest($1::text[], $2::bigint[], $3::int[], $5::jsonb[]) AS placed (session_id, position, attempt, event)`,
        [
          events.map(({ sessionId }) => sessionId),
          events.map(({ position }) => position),
          events.map(({ attempt }) => attempt),
          at,
          events.map(({ event }) => JSON.stringify(harmless(event))),
        ],
      );
    },
    announce: (sessionId, events) => {
      deps.live.publish(events === undefined ? { sessionId } : { sessionId, events });
    },
  };
}

async function insertEvents(
  tx: Transaction,
  sessionId: string,
  attempt: number,
  drafts: readonly EventDraft[],
): Promise<readonly PositionedEvent[]> {
  if (drafts.length === 0) return [];
  const safe = drafts.map((draft) => ({ ...draft, event: harmless(draft.event) }));
  const [row] = await tx.query<{ last: number }>(
    `WITH taken AS (
       UPDATE sessions SET event_position = event_position + $3 WHERE id = $1 RETURNING event_position AS last
     ), written AS (
       INSERT INTO session_events (session_id, position, attempt, at, type, event, segment_key)
       SELECT $1, taken.last - $3 + draft.number, $2, (draft.value ->> 'at')::timestamptz, draft.value ->> 'type',
         nullif(draft.value -> 'event', 'null'::jsonb), draft.value ->> 'segmentKey'
       FROM taken, jsonb_array_elements($4::jsonb) WITH ORDINALITY AS draft (value, number)
     )
     SELECT last FROM taken`,
    [
      sessionId,
      attempt,
      drafts.length,
      JSON.stringify(
        safe.map(({ event, at, segmentKey }) => ({
          type: event.type,
          at,
          event: segmentKey === undefined ? event : null,
          segmentKey,
        })),
      ),
    ],
  );
  const last = row?.last ?? 0;
  return safe.map(({ event, at }, index) => ({
    position: last - safe.length + index + 1,
    at,
    attempt,
    event,
  }));
}
