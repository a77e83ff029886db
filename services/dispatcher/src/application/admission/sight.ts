import { admissible } from '@lemniscate/shared/queue/fair-turns.ts';
import type { ClassTurns } from '@lemniscate/shared/queue/fair-turns.ts';
import type { Waiting, WaitingClassHeads, WaitingSession } from './waiting-sessions.ts';

/**
 * Where the next look at a class begins of whose lanes in sight none may have a slot, as they are at their caps or paused:
 * behind them.
 */
export function behindSight(waiting: Waiting): ClassTurns[] {
  return waiting.classes
    .filter(({ partial, lanes }) => partial && lanes.every((lane) => admissible(lane) === 0))
    .flatMap(({ name, lanes, cursor, due }) => {
      const last = lanes.findLast((lane) => lane.name < cursor.lane) ?? lanes.at(-1);
      if (last === undefined) return [];
      const behind = { lane: `${last.name}\u0001`, granted: false };
      return [{ placementClass: name, cursor: behind, deficits: new Map(), due }];
    });
}

/** Whether another look would find something beside what this one has taken. */
export function isLeft(waiting: Waiting, taken: readonly WaitingSession[]): boolean {
  return waiting.partial || waiting.classes.some((each) => isLeftOf(each, taken));
}

function isLeftOf({ name, partial, lanes }: WaitingClassHeads, taken: readonly WaitingSession[]): boolean {
  const own = taken.filter(({ placementClass }) => placementClass === name).length;
  const open = lanes.reduce((sum, lane) => sum + admissible(lane), 0);
  return partial || open > own || lanes.some(({ more, room }) => more && room !== 0);
}
