import { csvLine } from '@lemniscate/shared/costs/csv.ts';
import { focusBuckets, focusColumns, toFocusRow } from '@lemniscate/shared/costs/focus.ts';
import type { FocusAccount, FocusBucket, FocusCharge } from '@lemniscate/shared/costs/focus.ts';
import type { Database } from '../ports/transaction.ts';
import type { CostSpan } from './report-costs.ts';

type Key = readonly [string, string, string, string, string, string, string];
interface ExportRow extends Record<string, unknown> {
  readonly key: Key;
  readonly project: string;
  readonly agent: string;
  readonly user: string;
  readonly runtime: string;
  readonly repository: string;
  readonly incomplete: number;
  readonly unpriced: number;
  readonly quantities: Readonly<Record<FocusBucket, string>>;
  readonly costs: Readonly<Record<FocusBucket, string>>;
}

/** Rollup rows that are read at once; an export of any size needs the memory of one page. */
const pageRows = 2_000;

// Entries of versions before have the cost of what was billed by number and not the number.
const requests = 'CASE WHEN other_usd <> 0 THEN greatest(requests, 1) ELSE requests END';
const keys = 'session_id, day, provider, model, kind, price_book, cost_centre';
const pageStatement = `
  SELECT jsonb_build_array(session_id, day, provider, model, kind, price_book, cost_centre) AS key,
    project_id AS project, agent, subject AS "user", runtime, incomplete, unpriced,
    coalesce((SELECT coalesce(s.repository ->> 'url', s.repository ->> 'name', s.repository ->> 'path')
      FROM sessions s WHERE s.id = session_id), '') AS repository,
    jsonb_build_object('input', input_tokens::text, 'output', output_tokens::text, 'cacheRead', cache_read_tokens::text,
      'cacheWrite', cache_write_tokens::text, 'other', ${requests}::text, 'compute', trim_scale(slot_seconds)::text) AS quantities,
    jsonb_build_object('input', trim_scale(input_usd)::text, 'output', trim_scale(output_usd)::text,
      'cacheRead', trim_scale(cache_read_usd)::text, 'cacheWrite', trim_scale(cache_write_usd)::text,
      'other', trim_scale(other_usd)::text, 'compute', trim_scale(compute_usd)::text) AS costs
  FROM cost_sessions
  WHERE day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3)
    AND (${keys}) > ($4, $5::date, $6, $7, $8, $9, $10)
  ORDER BY ${keys} LIMIT ${pageRows}`;

/** The charges of a span, one a session, day, model and bucket that was used. */
async function* readCharges(database: Database, span: CostSpan): AsyncGenerator<FocusCharge> {
  let after: Key = ['', '0001-01-01', '', '', '', '', ''];
  for (;;) {
    const rows = await database.query<ExportRow>(pageStatement, [
      span.from,
      span.to,
      span.project ?? null,
      ...after,
    ]);
    for (const row of rows) yield* chargesOf(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last.key;
  }
}

function* chargesOf(row: ExportRow): Generator<FocusCharge> {
  const [sessionId, day, provider, model, kind, priceBook, costCentre] = row.key;
  for (const bucket of focusBuckets) {
    const [quantity, usd] = [row.quantities[bucket], row.costs[bucket]];
    if (usd === '0' && quantity === '0') continue;
    const { project, agent, user, runtime, repository } = row;
    yield {
      sessionId,
      day,
      provider,
      model,
      kind: kind as FocusCharge['kind'],
      priceBook,
      costCentre,
      project,
      agent,
      user,
      runtime,
      repository,
      bucket,
      quantity,
      usd,
      // a correction that prices what had no price takes it back: it is whole and priced itself
      complete: row.incomplete <= 0,
      unpriced: row.unpriced > 0,
    };
  }
}

/** The span as FOCUS 1.2 in CSV, line by line. */
export async function* exportFocus(
  database: Database,
  span: CostSpan,
  account: FocusAccount,
): AsyncGenerator<string> {
  yield csvLine(focusColumns.map(({ name }) => name));
  for await (const charge of readCharges(database, span)) yield csvLine(toFocusRow(charge, account));
}
