import { z } from 'zod';

/** What costs are grouped by. */
export const costGroups = [
  'project',
  'agent',
  'user',
  'model',
  'provider',
  'runtime',
  'day',
  'costCentre',
  'session',
] as const;
export const costGroupSchema = z.enum(costGroups);
export type CostGroup = z.infer<typeof costGroupSchema>;

const usd = z.string();
const tokens = z.int();

/** One line of a report. Money is exact decimal text in US dollars. */
export const costRowSchema = z.object({
  group: z.string(),
  exchanges: z.int(),
  inputTokens: tokens,
  outputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  /** What the tokens cost, and what the provider bills by number. */
  tokensUsd: usd,
  slotSeconds: z.string(),
  /** What the slots cost at their pools' prices. */
  computeUsd: usd,
  totalUsd: usd,
  /** Exchanges whose model has no price: their cost is missing from the sums. */
  unpriced: z.int(),
  /** Exchanges whose cost is a lower bound: they were cut, or something of them is billed by number and has no price. */
  incomplete: z.int(),
});
export type CostRow = z.infer<typeof costRowSchema>;

/** Days are in UTC; `to` is not part of the span. */
export const costReportSchema = z.object({
  groupBy: costGroupSchema,
  from: z.string(),
  to: z.string(),
  /** When the rollups were last brought up to date. */
  foldedAt: z.string(),
  rows: z.array(costRowSchema),
  total: costRowSchema,
});
export type CostReport = z.infer<typeof costReportSchema>;

/** Cost of a project's accepted diffs; what failed is in the numerator. */
export const unitCostSchema = z.object({
  project: z.string(),
  sessions: z.int(),
  acceptedDiffs: z.int(),
  totalUsd: usd,
  /** Null: nothing was accepted. */
  usdPerAcceptedDiff: usd.nullable(),
});

/** What the month will have cost. */
export const forecastSchema = z.object({
  month: z.string(),
  spentUsd: usd,
  /** Mean of the last whole days, which the rest of the month is expected to go on with. */
  dailyUsd: usd,
  basedOnDays: z.int(),
  forecastUsd: usd,
});

/** A day that cost more than the trailing weeks explain. */
export const anomalySchema = z.object({
  project: z.string(),
  day: z.string(),
  totalUsd: usd,
  expectedUsd: usd,
  /** Standard deviations above the mean. */
  deviations: z.number(),
});

export const budgetScopes = ['project', 'agent'] as const;
/** A budget of a calendar month. */
export const costBudgetSchema = z.object({
  scope: z.enum(budgetScopes),
  name: z.string(),
  amountUsd: usd,
  month: z.string(),
  /** What sessions hold in slices, spent or not. */
  grantedUsd: usd,
  state: z.enum(['ok', 'warning', 'exhausted']),
  /** What a change sends as If-Match. */
  version: z.int(),
});
export type CostBudget = z.infer<typeof costBudgetSchema>;

/** A project's cost centre; version 0: none is named. */
export const costCentreSchema = z.object({ costCentre: z.string().nullable(), version: z.int() });

/** What a slot of a pool costs, the latest day first; version 0: it has no price. */
export const poolPricesSchema = z.object({
  prices: z.array(z.object({ fromDay: z.string(), usdPerSlotHour: z.string() })),
  version: z.int(),
});

/** A line of a provider's bill. */
export const billLineSchema = z.strictObject({
  day: z.iso.date(),
  provider: z.string().min(1).max(100),
  model: z.string().min(1).max(200),
  costUsd: z.string().regex(/^\d{1,12}(\.\d{1,18})?$/, 'must be a decimal text'),
});
export type BillLine = z.infer<typeof billLineSchema>;

/** Where a bill and the record differ. */
export const reconciliationRowSchema = z.object({
  day: z.string(),
  provider: z.string(),
  model: z.string(),
  billedUsd: usd,
  recordedUsd: usd,
  differenceUsd: usd,
});

/** What a correction did. */
export const correctionResultSchema = z.object({
  /** Exchanges whose cost has changed. */
  corrected: z.int(),
  differenceUsd: usd,
  /** Exchanges of the span that do not say how they were served: their price cannot be told again, and stays. */
  leftOut: z.int(),
});
export type CorrectionResult = z.infer<typeof correctionResultSchema>;
