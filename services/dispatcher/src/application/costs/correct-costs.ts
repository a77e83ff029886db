import type { CorrectionResult } from '@lemniscate/shared/costs/cost-report.ts';
import { costPartsOfCall, isCostLowerBound } from '@lemniscate/shared/model/cost.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import { bookOfProject } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import type { Transaction } from '../ports/transaction.ts';
import { carryToParents } from '../delegation/carry-difference.ts';
import type { SessionDifference } from '../delegation/carry-difference.ts';
import type { ServedUsage } from './served-usage.ts';
import { correctionsLock, measureSlicesAgain } from './spent-slices.ts';

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
  readonly served_model: string | null;
  readonly cost_centre: string;
}

interface WrongRow extends Record<string, unknown> {
  readonly facts: EntryFacts;
  readonly prices: string;
  /** Null: a dispatcher settled it that did not keep how it was served. */
  readonly served: ServedUsage | null;
  readonly was: Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'other', string>>;
  readonly unpriced: number;
  readonly complete: boolean;
  /** 1: its cost is known as a lower bound. */
  readonly incomplete: number;
  /** As the row has it. */
  readonly lower: boolean | null;
}

/**
 * Prices a span of exchanges again and appends the differences; entries that were appended before stay as they are, and
 * the usage rows, by which sessions and budgets are measured, have the new cost. What is priced is what the row keeps:
 * served models, tiers and samplings. Asked twice, or with the book that priced it, nothing is corrected. The caller's
 * transaction makes it whole.
 */
export async function correctCosts(
  tx: Transaction,
  correction: Correction,
  book: PriceBook,
): Promise<CorrectionResult> {
  await tx.query(`SELECT pg_advisory_xact_lock(${correctionsLock})`);
  const span = [correction.provider, correction.model, correction.from, correction.to];
  // What is just becoming known of a cut exchange comes before or after, and not between.
  await tx.query(`SELECT FROM usage u WHERE ${inSpan} ORDER BY u.id FOR UPDATE`, span);
  const rows = await tx.query<WrongRow>(wrongRows, span);
  const found = rows.flatMap((row) => {
    const own = bookOfProject(book, row.facts.project_id);
    const found = differencesOf(row, own);
    return found === null
      ? []
      : [{ row, ...found, usd: Decimal.sum(0, ...found.deltas), priceBook: own.version }];
  });
  for (let from = 0; from < found.length; from += atOnce)
    await appendDifferences(tx, found.slice(from, from + atOnce), correction.reason);
  const differences = differencesBySession(found);
  await carryToParents(tx, differences);
  await measureSlicesAgain(
    tx,
    differences.map(({ session_id }) => session_id),
  );
  return {
    corrected: found.length,
    differenceUsd: Decimal.sum(0, ...found.map(({ usd }) => usd)).toFixed(),
    leftOut: rows.filter(({ served }) => served === null).length,
  };
}

interface Difference {
  readonly row: WrongRow;
  readonly deltas: readonly Decimal[];
  readonly costIsLowerBound: boolean;
  /** The sum of the deltas. */
  readonly usd: Decimal;
  readonly priceBook: string;
}

async function appendDifferences(
  tx: Transaction,
  found: readonly Difference[],
  reason: string,
): Promise<void> {
  const entries = found.map(({ row, deltas, costIsLowerBound, priceBook }) => {
    const [input, output, cacheRead, cacheWrite, other] = deltas;
    return {
      ...row.facts,
      price_book: priceBook,
      input_usd: input?.toFixed(),
      output_usd: output?.toFixed(),
      cache_read_usd: cacheRead?.toFixed(),
      cache_write_usd: cacheWrite?.toFixed(),
      other_usd: other?.toFixed(),
      unpriced: -row.unpriced,
      incomplete: Number(costIsLowerBound) - row.incomplete,
    };
  });
  await tx.query(appendCorrections, [JSON.stringify(entries), reason]);
  const costs = found.map(({ row, usd, costIsLowerBound, priceBook }) => ({
    id: row.facts.usage_id,
    usd: usd.plus(sumOf(row)).toFixed(),
    book: priceBook,
    lower: costIsLowerBound,
  }));
  await tx.query(
    `UPDATE usage u SET cost_usd = g.usd, price_book = g.book, cost_is_lower_bound = g.lower
     FROM jsonb_to_recordset($1::jsonb) AS g (id text, usd numeric, book text, lower boolean) WHERE u.id = g.id`,
    [JSON.stringify(costs)],
  );
}

const sumOf = ({ was }: WrongRow): Decimal => Decimal.sum(0, ...Object.values(was));

function differencesBySession(found: readonly Difference[]): SessionDifference[] {
  const sums = new Map<string, SessionDifference>();
  for (const { row, usd } of found) {
    const { session_id } = row.facts;
    sums.set(session_id, { session_id, usd: usd.plus(sums.get(session_id)?.usd ?? 0).toFixed() });
  }
  return [...sums.values()];
}

/** Entries that one statement appends. */
const atOnce = 1_000;

const inSpan = `u.provider = $1 AND u.model = $2 AND u.begun_at >= $3::date AND u.begun_at < $4::date
    AND u.state <> 'begun'`;

const wrongRows = `
  SELECT jsonb_build_object('usage_id', u.id, 'session_id', u.session_id, 'day', min(e.day)::text,
      'project_id', min(e.project_id), 'agent', min(e.agent), 'subject', min(e.subject), 'runtime', min(e.runtime),
      'provider', u.provider, 'model', u.model,
      'served_model', u.served_model, 'cost_centre', (array_agg(e.cost_centre ORDER BY e.id))[1]) AS facts,
    coalesce(u.prices, u.provider) AS prices, u.served,
    jsonb_build_object('input', sum(e.input_usd)::text, 'output', sum(e.output_usd)::text,
      'cacheRead', sum(e.cache_read_usd)::text, 'cacheWrite', sum(e.cache_write_usd)::text,
      'other', sum(e.other_usd)::text) AS was, sum(e.unpriced)::int AS unpriced,
    u.complete, u.cost_is_lower_bound AS lower, sum(e.incomplete)::int AS incomplete
  FROM usage u JOIN cost_entries e ON e.usage_id = u.id
  WHERE ${inSpan}
  GROUP BY u.id`;

// Entries are not found by their exchange one by one: an index for it would cost every append.
const appendCorrections = `
  INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
    served_model, cost_centre, price_book, reason, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd, unpriced,
    incomplete)
  SELECT 'correction', usage_id, session_id, day, project_id, agent, subject, runtime, provider, model, served_model,
    cost_centre, price_book,
    $2, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd, unpriced,
    incomplete
  FROM jsonb_to_recordset($1::jsonb) AS given (usage_id text, session_id text, day date, project_id text, agent text,
    subject text, runtime text, provider text, model text, served_model text, cost_centre text, price_book text, input_usd numeric, output_usd numeric,
    cache_read_usd numeric, cache_write_usd numeric, other_usd numeric, unpriced integer,
    incomplete integer)`;

/** New minus old by part, and what is left open; null when nothing changes, or it cannot be priced. */
function differencesOf(
  row: WrongRow,
  book: PriceBook,
): Pick<Difference, 'deltas' | 'costIsLowerBound'> | null {
  if (row.served === null) return null;
  const { at, responses } = row.served;
  const call = { provider: row.prices, model: row.facts.model, at, batch: false };
  const costs = costPartsOfCall(responses, call, book);
  if (costs === null) return null;
  const parts = ['input', 'output', 'cacheRead', 'cacheWrite', 'other'] as const;
  const deltas = parts.map((part) => costs[part].minus(row.was[part]));
  const costIsLowerBound = isCostLowerBound(row.complete, responses, call, book);
  const isRight =
    deltas.every((delta) => delta.isZero()) &&
    row.unpriced === 0 &&
    row.incomplete === Number(costIsLowerBound) &&
    // A version before settles a row without the word; null is what a row of that version has.
    (row.lower === null || row.lower === costIsLowerBound);
  return isRight ? null : { deltas, costIsLowerBound };
}
