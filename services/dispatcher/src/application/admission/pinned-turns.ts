import type { ClassTurns, Turn } from '@lemniscate/shared/queue/fair-turns.ts';
import type { Lane } from '@lemniscate/shared/queue/fair-share.ts';
import type { Waiting } from './waiting-sessions.ts';

/** Pinned sessions wait for a server of their own each and are nobody's rivals: all of them may be asked for, in a ring. */
export function pinnedTurns(waiting: Waiting): Turn[] {
  return waiting.classes.flatMap(({ name, lanes, cursor }) =>
    ringFrom(lanes, cursor.lane).flatMap((lane) =>
      Array.from({ length: lane.waiting }, () => ({ placementClass: name, lane: lane.name })),
    ),
  );
}

/**
 * Where the next look begins, when this one could not ask for all of them; nothing, when it could. Without it those behind a
 * crowd of servers that are busy or silent would never be asked for.
 */
export function behindAsked(waiting: Waiting, turns: readonly Turn[], asked: number): ClassTurns[] {
  return waiting.classes.flatMap(({ name, lanes, cursor, due, partial }) => {
    const last = ringFrom(lanes, cursor.lane).at(-1);
    const next = turns[asked]?.lane ?? (partial && last !== undefined ? `${last.name}\u0001` : null);
    if (next === null) return [];
    return [{ placementClass: name, cursor: { lane: next, granted: false }, deficits: new Map(), due }];
  });
}

function ringFrom(lanes: readonly Lane[], from: string): Lane[] {
  return [...lanes.filter(({ name }) => name >= from), ...lanes.filter(({ name }) => name < from)];
}
