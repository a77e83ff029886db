import { Cron } from 'croner';
import type { CronSchedule } from '@lemniscate/shared/api/trigger.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/**
 * Times follow the zone's clock as Vixie cron has it: a fixed time that a change of clocks leaves out runs right after the
 * gap, one that comes twice runs the first time, and what runs every so often runs in both hours.
 */
function cronOf({ pattern, timeZone }: Pick<CronSchedule, 'pattern' | 'timeZone'>): Cron {
  try {
    return new Cron(pattern, {
      timezone: timeZone,
      mode: '5-part',
      fixedTimeRule: 'no-wildcard',
      paused: true,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it is no pattern';
    throw new CodedError(
      'request_invalid',
      `The schedule "${pattern}" cannot be read: ${why.slice(0, 300)}. Give minute, hour, day of the month, month, day of the week.`,
    );
  }
}

/** The first time after the given one; null: never again. @throws CodedError `request_invalid` for what is no pattern */
export function nextSlot(schedule: Pick<CronSchedule, 'pattern' | 'timeZone'>, after: Date): Date | null {
  return cronOf(schedule).nextRun(after);
}

/** The next times after the given one. @throws CodedError `request_invalid` */
export function nextSlots(
  schedule: Pick<CronSchedule, 'pattern' | 'timeZone'>,
  after: Date,
  count: number,
): Date[] {
  return cronOf(schedule).nextRuns(count, after);
}

/** Missed times that `all` makes up for at most; older ones are left out. */
export const mostMadeUp = 100;
/** A time that is seen so late was not missed yet. Milliseconds. */
const graceMs = 60_000;

/**
 * The times for which a schedule fires now, the oldest first, and when it is due next.
 * @param due the oldest time that has not been dealt with; not after `now`
 */
export function slotsToFire(
  schedule: CronSchedule,
  due: Date,
  now: Date,
): { readonly slots: readonly Date[]; readonly next: Date | null } {
  const cron = cronOf(schedule);
  const next = cron.nextRun(now);
  const upTo = new Date(now.getTime() + 1);
  // Backwards, so that a year of missed minutes costs a hundred steps.
  const passed = cron.previousRuns(mostMadeUp, upTo).filter((slot) => slot >= due && slot <= now);
  const slots = passed.toSorted((left, right) => left.getTime() - right.getTime());
  const newest = slots.at(-1);
  if (schedule.misfire === 'all' || newest === undefined) return { slots, next };
  if (schedule.misfire === 'once') return { slots: [newest], next };
  return { slots: now.getTime() - newest.getTime() <= graceMs ? [newest] : [], next };
}
