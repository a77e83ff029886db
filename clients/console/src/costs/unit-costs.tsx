import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { count, usd } from '../parts/format.ts';
import { Card, Loaded } from '../parts/parts.tsx';
import { useUnitCosts } from './cost-figures.tsx';
import type { CostQuestion } from './cost-question.ts';

/** What one accepted diff of each project costs, failed and rejected sessions included. */
export function UnitCosts({ question }: { question: CostQuestion }): ReactNode {
  const units = useUnitCosts(question);
  return (
    <Card title="Cost of an accepted diff" flush>
      <Loaded query={units} rows={4}>
        {({ projects }) => (
          <table className="table num">
            <thead>
              <tr>
                <th>Project</th>
                <th className="right">Sessions</th>
                <th className="right">Accepted diffs</th>
                <th className="right">Cost</th>
                <th className="right">Cost of one</th>
              </tr>
            </thead>
            <tbody>
              {projects.map((one) => (
                <tr key={one.project}>
                  <td>{one.project}</td>
                  <td className="right">{count(one.sessions)}</td>
                  <td className="right">{count(one.acceptedDiffs)}</td>
                  <td className="right">{usd(one.totalUsd)}</td>
                  <td className="right">
                    {one.usdPerAcceptedDiff === null ? '–' : usd(one.usdPerAcceptedDiff)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </Card>
  );
}

/** Days that cost more than the weeks before explain. */
export function Anomalies({ question }: { question: CostQuestion }): ReactNode {
  const anomalies = useQuery({
    queryKey: ['costs', 'anomalies', question],
    queryFn: () => ask(api.GET('/v1/costs/anomalies', { params: { query: given({ ...question }) } })),
  });
  return (
    <Card title="Unusual days">
      <Loaded query={anomalies} rows={2}>
        {({ anomalies: days }) =>
          days.length === 0 ? (
            <p className="faint">No day cost more than the four weeks before it explain.</p>
          ) : (
            <ul className="stack num">
              {days.slice(0, 6).map((day) => (
                <li key={`${day.day}/${day.project}`} className="spread">
                  <span>
                    {day.day} · {day.project}
                  </span>
                  <span className="muted">
                    {usd(day.totalUsd)} instead of {usd(day.expectedUsd)}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}
