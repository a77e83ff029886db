const dayMs = 86_400_000;
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export const spanNames = ['7d', '30d', 'month', 'last-month', '90d'] as const;
export type SpanName = (typeof spanNames)[number];

export const spanWords: Readonly<Record<SpanName, string>> = {
  '7d': '7 days',
  '30d': '30 days',
  month: 'This month',
  'last-month': 'Last month',
  '90d': '90 days',
};

/** First day and the day after the last, in UTC, as the API wants them. */
export function spanOf(name: SpanName, now: number): { from: string; to: string } {
  const tomorrow = dayAt(now + dayMs);
  const today = new Date(now);
  const monthStart = (offset: number): string =>
    dayAt(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + offset, 1));
  if (name === 'month') return { from: monthStart(0), to: tomorrow };
  if (name === 'last-month') return { from: monthStart(-1), to: monthStart(0) };
  const days = Number(name.slice(0, -1));
  return { from: dayAt(now - (days - 1) * dayMs), to: tomorrow };
}

/** Every day of a span, so that a day without costs is a gap in the chart and not a missing bar. */
export function daysOf(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += dayMs) days.push(dayAt(at));
  return days;
}
