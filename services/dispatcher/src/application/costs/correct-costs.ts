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

/** What an exchange's entries have in common. */
interface EntryFacts {
  readonly usage_id: string;
  readonly session_id: string;
  readonly day: string;
  readonly project_id: string;
  readonly agent: string;
  readonly subject: string;
  readonly runtime: string;
  readonly provider: string;
  readonly model: string;
  readonly cost_centre: string;
}

interface WrongRow extends Record<string, unknown> {
  readonly facts: EntryFacts;
  readonly prices: string;
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
  const found = rows.flatMap((row) => {
    const deltas = differencesOf(row, book);
    return deltas === null ? [] : [{ row, deltas }];
  });
  for (let from = 0; from < found.length; from += atOnce) {
    const entries = found
      .slice(from, from + atOnce)
      .map(({ row, deltas: [input, output, cacheRead, cacheWrite, other] }) => ({
        ...row.facts,
        input_usd: input?.toFixed(),
        output_usd: output?.toFixed(),
        cache_read_usd: cacheRead?.toFixed(),
        cache_write_usd: cacheWrite?.toFixed(),
        other_usd: other?.toFixed(),
        unpriced: -row.unpriced,
      }));
    await tx.query(appendCorrections, [JSON.stringify(entries), book.version, correction.reason]);
  }
  const difference = Decimal.sum(0, ...found.map(({ deltas }) => Decimal.sum(0, ...deltas)));
  return { corrected: found.length, differenceUsd: difference.toFixed() };
}

/** Entries that one statement appends. */
const atOnce = 1_000;

const wrongRows = `
  SELECT jsonb_build_object('usage_id', u.id, 'session_id', u.session_id, 'day', min(e.day)::text,
      'project_id', min(e.project_id), 'agent', min(e.agent), 'subject', min(e.subject), 'runtime', min(e.runtime),
      'provider', u.provider, 'model', u.model, 'cost_centre', (array_agg(e.cost_centre ORDER BY e.id))[1]) AS facts,
    coalesce(u.prices, u.provider) AS prices, u.begun_at AS at, u.served_tier,
    u.response_id, u.complete, u.input_tokens AS input, u.output_tokens AS output, u.cache_read_tokens AS cache_read,
    u.cache_write_tokens AS cache_write, u.cache_write_1h_tokens AS cache_write_1h,
    jsonb_build_object('input', sum(e.input_usd)::text, 'output', sum(e.output_usd)::text,
      'cacheRead', sum(e.cache_read_usd)::text, 'cacheWrite', sum(e.cache_write_usd)::text,
      'other', sum(e.other_usd)::text) AS was, sum(e.unpriced)::int AS unpriced
  FROM usage u JOIN cost_entries e ON e.usage_id = u.id
  WHERE u.provider = $1 AND u.model = $2 AND u.begun_at >= $3::date AND u.begun_at < $4::date AND u.state <> 'begun'
  GROUP BY u.id`;

// Entries are not found by their exchange one by one: an index for it would cost every append.
const appendCorrections = `
  INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
    cost_centre, price_book, reason, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd, unpriced)
  SELECT 'correction', usage_id, session_id, day, project_id, agent, subject, runtime, provider, model, cost_centre, $2,
    $3, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd, unpriced
  FROM jsonb_to_recordset($1::jsonb) AS given (usage_id text, session_id text, day date, project_id text, agent text,
    subject text, runtime text, provider text, model text, cost_centre text, input_usd numeric, output_usd numeric,
    cache_read_usd numeric, cache_write_usd numeric, other_usd numeric, unpriced integer)`;

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
        servedModel: row.facts.model,
        tier: { serviceTier: row.served_tier, speed: null, region: null },
        parts: [{ model: null, tokens }],
        webSearches: 0,
        complete: row.complete === true,
      },
    ],
    { provider: row.prices, model: row.facts.model, at: Date.parse(row.at), batch: false },
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
