import type { BillLine } from '@lemniscate/shared/costs/cost-report.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import type { Database } from '../ports/transaction.ts';

/** A line of the bill beside what the record has for it. */
export interface ReconciledLine {
  readonly day: string;
  readonly provider: string;
  readonly model: string;
  readonly billedUsd: string;
  readonly recordedUsd: string;
  readonly differenceUsd: string;
}

interface RecordedRow extends Record<string, unknown> {
  readonly day: string;
  readonly provider: string;
  /** The model that was asked. */
  readonly model: string;
  readonly served: string;
  readonly usd: string;
}

/** Under which name a bill has what is recorded. */
function billedNames(bill: readonly BillLine[]): (row: RecordedRow) => string {
  const keyOf = (provider: string, model: string): string => JSON.stringify([provider, model]);
  const billed = new Set(bill.map(({ provider, model }) => keyOf(provider, model)));
  return ({ provider, model, served }) =>
    !billed.has(keyOf(provider, served)) && billed.has(keyOf(provider, model)) ? model : served;
}

/**
 * Lays a provider's bill beside the record, by day, provider and model. Bills name the model that served, which can have
 * another name than the one that was asked; a bill that names the asked one has its costs under that. Days of the bill's span that only the record
 * knows are told as well: a bill that misses something is as wrong as one that has too much.
 */
export async function reconcileBill(
  database: Database,
  bill: readonly BillLine[],
): Promise<ReconciledLine[]> {
  const days = bill.map(({ day }) => day).sort();
  const providers = [...new Set(bill.map(({ provider }) => provider))];
  const recorded = await database.query<RecordedRow>(
    `SELECT day::text AS day, provider, model, served_model AS served, trim_scale(tokens_usd)::text AS usd
     FROM cost_served_days WHERE day >= $1 AND day <= $2 AND provider = ANY ($3)`,
    [days[0] ?? '1970-01-01', days.at(-1) ?? '1970-01-01', providers],
  );
  const lines = new Map<string, { billed: Decimal; recorded: Decimal }>();
  const add = (key: readonly string[], name: 'billed' | 'recorded', usd: string): void => {
    const line = lines.get(JSON.stringify(key)) ?? { billed: new Decimal(0), recorded: new Decimal(0) };
    lines.set(JSON.stringify(key), { ...line, [name]: line[name].plus(usd) });
  };
  for (const { day, provider, model, costUsd } of bill) add([day, provider, model], 'billed', costUsd);
  const nameOf = billedNames(bill);
  for (const row of recorded) add([row.day, row.provider, nameOf(row)], 'recorded', row.usd);
  return [...lines]
    .map(([key, line]) => {
      const [day = '', provider = '', model = ''] = JSON.parse(key) as string[];
      return {
        day,
        provider,
        model,
        billedUsd: line.billed.toFixed(),
        recordedUsd: line.recorded.toFixed(),
        differenceUsd: line.billed.minus(line.recorded).toFixed(),
      };
    })
    .sort((left, right) =>
      left.day + left.provider + left.model < right.day + right.provider + right.model ? -1 : 1,
    );
}
