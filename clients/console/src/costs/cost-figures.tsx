import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { CostRow } from '@lemniscate/shared/costs/cost-report.ts';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { count, percent, usd } from '../parts/format.ts';
import { cacheShare } from './cost-question.ts';
import type { CostQuestion } from './cost-question.ts';

export function useUnitCosts(question: CostQuestion) {
  return useQuery({
    queryKey: ['costs', 'unit', question],
    queryFn: () => ask(api.GET('/v1/costs/unit', { params: { query: given({ ...question }) } })),
  });
}

/** The numbers that a month is explained with. */
export function CostFigures({ question, total }: { question: CostQuestion; total: CostRow }): ReactNode {
  const forecast = useQuery({
    queryKey: ['costs', 'forecast', question.project],
    queryFn: () =>
      ask(api.GET('/v1/costs/forecast', { params: { query: given({ project: question.project }) } })),
  }).data;
  const units = useUnitCosts(question).data?.projects ?? [];
  const accepted = units.reduce((sum, { acceptedDiffs }) => sum + acceptedDiffs, 0);
  const sessions = units.reduce((sum, one) => sum + one.sessions, 0);
  return (
    <dl className="figures">
      <Figure
        name="Total"
        value={usd(total.totalUsd)}
        note={`${usd(total.tokensUsd)} tokens, ${usd(total.computeUsd)} slots`}
      />
      <Figure
        name="This month, expected"
        value={forecast === undefined ? '…' : usd(forecast.forecastUsd)}
        note={
          forecast === undefined ? '' : `${usd(forecast.spentUsd)} spent, ${usd(forecast.dailyUsd)} a day`
        }
      />
      <Figure
        name="An accepted diff"
        value={accepted === 0 ? '–' : usd(String(Number(total.totalUsd) / accepted))}
        note={`${count(accepted)} of ${count(sessions)} sessions`}
      />
      <Figure name="From cache" value={percent(cacheShare(total))} note="of what models read" />
      <Figure
        name="Not priced"
        value={count(total.unpriced)}
        note={
          total.incomplete === 0
            ? 'exchanges without a price'
            : `and ${count(total.incomplete)} are lower bounds`
        }
      />
    </dl>
  );
}

export function Figure({ name, value, note }: { name: string; value: string; note?: string }): ReactNode {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {note === undefined ? null : (
          <span className="note" style={{ display: 'block' }}>
            {note}
          </span>
        )}
      </dd>
    </div>
  );
}
