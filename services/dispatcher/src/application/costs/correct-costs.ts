import { costPartsOfCall } from '@lemniscate/shared/model/cost.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Which exchanges were priced wrongly, and why. Days are in UTC; `to` is not part of the span. */
export interface Correction {
  readonly provider: string;
  readonly model: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

interface WrongRow extends Record<string, unknown> {
  readonly id: string;
  readonly provider: string;
  readonly prices: string;
  readonly model: string;
  readonly at: string;
  readonly served_tier: string | null;
  readonly response_id: string | null;
  readonly complete: boolean | null;
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
  readonly was: Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'other', string>>;
  readonly unpriced: number;
}

/**
 * Prices a span of exchanges again and appends the differences; what was appended before stays as it is. Asked twice,
 * the second finds nothing to correct. The tokens and the served tier that were recorded are priced, as one sampling.
 * The caller's transaction makes it whole.
 * @returns how many exchanges were corrected, and the sum of the differences in US dollars
 */
export async function correctCosts(
  tx: Transaction,
  correction: Correction,
  book: PriceBook,
): Promise<{ readonly corrected: number; readonly differenceUsd: string }> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('lemniscate-cost-corrections'))`);
  const rows = await tx.query<WrongRow>(wrongRows, [
    correction.provider,
    correction.model,
    correction.from,
    correction.to,
  ]);
  let corrected = 0;
  let difference = new Decimal(0);
  for (const row of rows) {
    const deltas = differencesOf(row, book);
    if (deltas === null) continue;
    corrected += 1;
    difference = Decimal.sum(difference, ...deltas);
    await tx.query(appendCorrection, [
      row.id,
      book.version,
      correction.reason,
      ...deltas.map((delta) => delta.toFixed()),
      row.unpriced > 0 ? -row.unpriced : 0,
    ]);
  }
  return { corrected, differenceUsd: difference.toFixed() };
}

const wrongRows = `
  SELECT u.id, u.provider, coalesce(u.prices, u.provider) AS prices, u.model, u.begun_at AS at, u.served_tier,
    u.response_id, u.complete, u.input_tokens AS input, u.output_tokens AS output, u.cache_read_tokens AS cache_read,
    u.cache_write_tokens AS cache_write, u.cache_write_1h_tokens AS cache_write_1h,
    jsonb_build_object('input', sum(e.input_usd)::text, 'output', sum(e.output_usd)::text,
      'cacheRead', sum(e.cache_read_usd)::text, 'cacheWrite', sum(e.cache_write_usd)::text,
      'other', sum(e.other_usd)::text) AS was, sum(e.unpriced)::int AS unpriced
  FROM usage u JOIN cost_entries e ON e.usage_id = u.id
  WHERE u.provider = $1 AND u.model = $2 AND u.begun_at >= $3::date AND u.begun_at < $4::date AND u.state <> 'begun'
  GROUP BY u.id`;

const appendCorrection = `
  INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
    cost_centre, price_book, reason, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd, unpriced)
  SELECT 'correction', usage_id, session_id, day, project_id, agent, subject, runtime, provider, model, cost_centre, $2,
    $3, $4, $5, $6, $7, $8, $9
  FROM cost_entries WHERE usage_id = $1 ORDER BY id LIMIT 1`;

/** New minus old by part; null when nothing changes, or the book has no price either. */
function differencesOf(row: WrongRow, book: PriceBook): Decimal[] | null {
  const tokens = {
    inputTokens: row.input,
    outputTokens: row.output,
    cacheReadTokens: row.cache_read,
    cacheWriteTokens: row.cache_write,
    cacheWrite1hTokens: row.cache_write_1h,
  };
  const costs = costPartsOfCall(
    [
      {
        responseId: row.response_id,
        servedModel: row.model,
        tier: { serviceTier: row.served_tier, speed: null, region: null },
        parts: [{ model: null, tokens }],
        webSearches: 0,
        complete: row.complete === true,
      },
    ],
    { provider: row.prices, model: row.model, at: Date.parse(row.at), batch: false },
    book,
  );
  if (costs === null) return null;
  const deltas = [
    costs.input.minus(row.was.input),
    costs.output.minus(row.was.output),
    costs.cacheRead.minus(row.was.cacheRead),
    costs.cacheWrite.minus(row.was.cacheWrite),
    // What the provider bills by number is not in the row any more and stays as it was.
    new Decimal(0),
  ];
  return deltas.every((delta) => delta.isZero()) && row.unpriced === 0 ? null : deltas;
}
