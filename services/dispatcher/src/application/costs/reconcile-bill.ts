import type { BillLine } from '@lemniscate/shared/costs/cost-report.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import type { Database } from '../ports/transaction.ts';
import { tokenUsd } from './cost-columns.ts';

/** A line of the bill beside what the record has for it. */
export interface ReconciledLine {
  readonly day: string;
  readonly provider: string;
  readonly model: string;
  readonly billedUsd: string;
  readonly recordedUsd: string;
  readonly differenceUsd: string;
}

/**
 * Lays a provider's bill beside the record, by day, provider and model. Days of the bill's span that only the record
 * knows are told as well: a bill that misses something is as wrong as one that has too much.
 */
export async function reconcileBill(
  database: Database,
  bill: readonly BillLine[],
): Promise<ReconciledLine[]> {
  const days = bill.map(({ day }) => day).sort();
  const providers = [...new Set(bill.map(({ provider }) => provider))];
  const recorded = await database.query<{ day: string; provider: string; model: string; usd: string }>(
    `SELECT day::text AS day, provider, model, trim_scale(sum(${tokenUsd}))::text AS usd FROM cost_days
     WHERE day >= $1 AND day <= $2 AND provider = ANY ($3) GROUP BY 1, 2, 3`,
    [days[0] ?? '1970-01-01', days.at(-1) ?? '1970-01-01', providers],
  );
  const lines = new Map<string, { billed: Decimal; recorded: Decimal }>();
  const add = (key: readonly string[], name: 'billed' | 'recorded', usd: string): void => {
    const line = lines.get(JSON.stringify(key)) ?? { billed: new Decimal(0), recorded: new Decimal(0) };
    lines.set(JSON.stringify(key), { ...line, [name]: line[name].plus(usd) });
  };
  for (const { day, provider, model, costUsd } of bill) add([day, provider, model], 'billed', costUsd);
  for (const { day, provider, model, usd } of recorded) add([day, provider, model], 'recorded', usd);
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
