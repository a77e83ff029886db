import { Decimal } from '../model/decimal.ts';

/** What a day cost. */
export interface DayCost {
  /** `2026-11-29`, in UTC. */
  readonly day: string;
  readonly usd: string;
}

const dayMs = 86_400_000;
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const atOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
/** Money that is an estimate is told to a hundredth of a cent. */
const estimated = (value: Decimal): string => value.toDecimalPlaces(4).toFixed();

/** Whole days whose mean the rest of the month is expected to cost. */
const forecastDays = 14;

/**
 * What the month of `today` will have cost: what it has cost, and the mean of the last whole days for every day that is
 * left, today included as far as it has not cost that yet.
 */
export function forecastMonth(
  days: readonly DayCost[],
  today: string,
): { month: string; spentUsd: string; dailyUsd: string; basedOnDays: number; forecastUsd: string } {
  const month = today.slice(0, 7);
  const costOf = new Map(days.map(({ day, usd }) => [day, new Decimal(usd)]));
  const inMonth = days.filter(({ day }) => day.startsWith(month) && day <= today);
  const spent = Decimal.sum(0, ...inMonth.map(({ usd }) => usd));
  const first = days.map(({ day }) => day).sort()[0] ?? today;
  const trailing = Array.from({ length: forecastDays }, (_, back) => dayAt(atOf(today) - (back + 1) * dayMs))
    // Before the first cost there was no use to take a mean of.
    .filter((day) => day >= first);
  const daily =
    trailing.length === 0
      ? (costOf.get(today) ?? new Decimal(0))
      : Decimal.sum(0, ...trailing.map((day) => costOf.get(day) ?? 0)).div(trailing.length);
  const left = daysAfter(today);
  const restOfToday = Decimal.max(0, daily.minus(costOf.get(today) ?? 0));
  return {
    month,
    spentUsd: spent.toFixed(),
    dailyUsd: estimated(daily),
    basedOnDays: trailing.length,
    forecastUsd: estimated(spent.plus(restOfToday).plus(daily.times(left))),
  };
}

/** Days of the month after a day. */
function daysAfter(day: string): number {
  const at = new Date(atOf(day));
  const last = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0));
  return last.getUTCDate() - at.getUTCDate();
}

/** Days before a day that it is compared with, how many of them must have had costs, and how far off is too far. */
const trailingDays = 28;
const leastDays = 7;
const tooFar = 3;
/** A day below twice the mean is no alarm, however even the weeks before were. */
const leastFactor = 2;

/**
 * The days of a series that cost more than the four weeks before explain: more than three standard deviations and twice
 * their mean. Days without costs count as zero once there was a cost.
 */
export function findAnomalies(
  days: readonly DayCost[],
): { day: string; totalUsd: string; expectedUsd: string; deviations: number }[] {
  const costOf = new Map(days.map(({ day, usd }) => [day, new Decimal(usd)]));
  const first = days.map(({ day }) => day).sort()[0];
  return days.flatMap(({ day, usd }) => {
    const before = Array.from({ length: trailingDays }, (_, back) => dayAt(atOf(day) - (back + 1) * dayMs))
      .filter((one) => first !== undefined && one >= first)
      .map((one) => costOf.get(one) ?? new Decimal(0));
    if (before.length < leastDays) return [];
    const mean = Decimal.sum(...before).div(before.length);
    const variance = Decimal.sum(...before.map((one) => one.minus(mean).pow(2))).div(before.length);
    // Even weeks have no deviation: a twentieth of the mean is taken for one.
    const deviation = Decimal.max(variance.sqrt(), mean.div(20), '0.0001');
    const deviations = new Decimal(usd).minus(mean).div(deviation);
    if (deviations.lt(tooFar) || mean.times(leastFactor).gt(usd)) return [];
    return [
      {
        day,
        totalUsd: usd,
        expectedUsd: estimated(mean),
        deviations: Number(deviations.toDecimalPlaces(1)),
      },
    ];
  });
}
