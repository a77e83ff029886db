import { z } from 'zod';

/** What a series over time can be split by. */
export const seriesGroups = ['project', 'agent', 'user', 'model'] as const;
export const seriesGroupSchema = z.enum(seriesGroups);
export type SeriesGroup = z.infer<typeof seriesGroupSchema>;

/** Answer of `GET /v1/costs/series`. Days are in UTC; `to` is not part of the span. */
export const costSeriesSchema = z.object({
  groupBy: seriesGroupSchema,
  from: z.string(),
  to: z.string(),
  /** `group` is empty for everything beyond the dearest few. */
  points: z.array(z.object({ day: z.string(), group: z.string(), usd: z.string() })),
});
export type CostSeries = z.infer<typeof costSeriesSchema>;
