import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { CostGroup, CostReport } from '@lemniscate/shared/costs/cost-report.ts';
import type { SeriesGroup } from '@lemniscate/shared/costs/cost-series.ts';
import { ask, given } from '@lemniscate/api/client.ts';
import { api, query } from '../api/client.ts';
import { useProjects } from '../api/queries.ts';
import { BarChart } from '../parts/bar-chart.tsx';
import { count, moment, percent, short, shortId, usd } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Card, Empty, Loaded, Segments, PageBody } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { personName } from '../sessions/sessions-page.tsx';
import { Budgets } from './budgets.tsx';
import { CostFigures } from './cost-figures.tsx';
import { cacheShare } from './cost-question.ts';
import type { CostQuestion } from './cost-question.ts';
import { Anomalies, UnitCosts } from './unit-costs.tsx';
import { daysOf, spanNames, spanOf, spanWords } from './span.ts';
import type { SpanName } from './span.ts';

const dimensions: readonly (readonly [SeriesGroup, string])[] = [
  ['project', 'Project'],
  ['agent', 'Agent'],
  ['user', 'Person'],
  ['model', 'Model'],
];

export function CostsPage(): ReactNode {
  const [name, setName] = useState<SpanName>('30d');
  const [project, setProject] = useState('');
  const [groupBy, setGroupBy] = useState<SeriesGroup>('project');
  const [now] = useState(() => Date.now());
  const question: CostQuestion = { ...spanOf(name, now), project };
  const projects = useProjects().data ?? [];
  const report = useReport(question, groupBy, 200);

  return (
    <>
      <header className="page-head">
        <h1>Costs</h1>
        <Segments
          label="Days"
          value={name}
          onChange={setName}
          options={spanNames.map((option) => [option, spanWords[option]] as const)}
        />
        <select
          className="input small"
          style={{ width: 'auto' }}
          aria-label="Project"
          value={project}
          onChange={(event) => setProject(event.target.value)}
        >
          <option value="">All projects</option>
          {projects.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
        <span className="grow" />
        <a
          className="button"
          href={`/v1/costs${query({ ...question, groupBy, format: 'csv' })}`}
          download="costs.csv"
        >
          <Icon name="download" size={14} />
          CSV
        </a>
        <a className="button" href={`/v1/costs/export${query({ ...question })}`} download="focus-1.2.csv">
          <Icon name="download" size={14} />
          FOCUS
        </a>
      </header>
      <PageBody>
        <div className="page-inner grid">
          <Loaded query={report}>
            {(costs) =>
              costs.total.exchanges === 0 && costs.total.totalUsd === '0' ? (
                <Empty icon="costs" title="Nothing was spent in these days">
                  Every exchange with a model and every slot that was held appears here, within seconds after
                  it ended.
                </Empty>
              ) : (
                <>
                  <CostFigures question={question} total={costs.total} />
                  <Card
                    title="Cost a day"
                    aside={
                      <Segments label="Split by" value={groupBy} onChange={setGroupBy} options={dimensions} />
                    }
                  >
                    <Series question={question} groupBy={groupBy} />
                  </Card>
                  <Breakdown report={costs} groupBy={groupBy} />
                  <div className="grid two">
                    <TopSessions question={question} />
                    <div className="grid">
                      <Budgets />
                      <Anomalies question={question} />
                    </div>
                  </div>
                  <UnitCosts question={question} />
                  <p className="hint">
                    Days are in UTC. The sums were last brought up to date at {moment(costs.foldedAt)}.
                  </p>
                </>
              )
            }
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

function useReport(question: CostQuestion, groupBy: CostGroup, limit: number) {
  return useQuery({
    queryKey: ['costs', question, groupBy, limit],
    placeholderData: keepPreviousData,
    // what was spent appears within seconds; whoever sees nothing yet waits for just that
    refetchInterval: ({ state }) => (state.data?.total.exchanges === 0 ? 3_000 : 30_000),
    queryFn: () =>
      ask(api.GET('/v1/costs', { params: { query: { ...given({ ...question }), groupBy, limit } } })),
  });
}

/** A group as a person reads it. */
function groupName(groupBy: CostGroup, group: string): string {
  if (group === '') return groupBy === 'costCentre' ? 'none' : 'everything else';
  return groupBy === 'user' ? personName(group) : shownLine(group);
}

function Series({ question, groupBy }: { question: CostQuestion; groupBy: SeriesGroup }): ReactNode {
  const series = useQuery({
    queryKey: ['costs', 'series', question, groupBy],
    placeholderData: keepPreviousData,
    queryFn: () =>
      ask(api.GET('/v1/costs/series', { params: { query: { ...given({ ...question }), groupBy } } })),
  });
  return (
    <Loaded query={series} rows={5}>
      {({ points }) => {
        const totals = new Map<string, number>();
        for (const { group, usd: cost } of points) totals.set(group, (totals.get(group) ?? 0) + Number(cost));
        const groups = [...totals.keys()].sort((a, b) =>
          a === '' ? 1 : b === '' ? -1 : (totals.get(b) ?? 0) - (totals.get(a) ?? 0),
        );
        const bars = daysOf(question.from, question.to).map((day) => ({
          name: day,
          parts: groups.flatMap((group) => {
            const point = points.find((one) => one.day === day && one.group === group);
            return point === undefined ? [] : [{ group, value: Number(point.usd) }];
          }),
        }));
        return (
          <BarChart
            title={`Cost a day by ${groupBy}`}
            bars={bars}
            groups={groups}
            show={(value) => usd(String(value))}
            nameOf={(group) => groupName(groupBy, group)}
          />
        );
      }}
    </Loaded>
  );
}

function Breakdown({ report, groupBy }: { report: CostReport; groupBy: SeriesGroup }): ReactNode {
  const whole = Number(report.total.totalUsd);
  const title = dimensions.find(([name]) => name === groupBy)?.[1] ?? groupBy;
  return (
    <Card title={`By ${title.toLowerCase()}`} flush>
      <table className="table num">
        <thead>
          <tr>
            <th>{title}</th>
            <th className="right">Cost</th>
            <th style={{ width: '18%' }}>Share</th>
            <th className="right">Exchanges</th>
            <th className="right">Tokens in</th>
            <th className="right">Tokens out</th>
            <th className="right">From cache</th>
            <th className="right">Slot hours</th>
          </tr>
        </thead>
        <tbody>
          {report.rows.map((row) => {
            const share = whole === 0 ? 0 : Number(row.totalUsd) / whole;
            return (
              <tr key={row.group}>
                <td>{groupName(groupBy, row.group)}</td>
                <td className="right">{usd(row.totalUsd)}</td>
                <td>
                  <div className="row">
                    <div className="bar grow">
                      <i style={{ width: `${share * 100}%` }} />
                    </div>
                    <span className="muted" style={{ width: 40, textAlign: 'right' }}>
                      {percent(share)}
                    </span>
                  </div>
                </td>
                <td className="right">{count(row.exchanges)}</td>
                <td className="right">
                  {short(row.inputTokens + row.cacheReadTokens + row.cacheWriteTokens)}
                </td>
                <td className="right">{short(row.outputTokens)}</td>
                <td className="right">{percent(cacheShare(row))}</td>
                <td className="right">{(Number(row.slotSeconds) / 3_600).toFixed(1)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Card>
  );
}

function TopSessions({ question }: { question: CostQuestion }): ReactNode {
  const report = useReport(question, 'session', 10);
  return (
    <Card title="Dearest sessions" flush>
      <Loaded query={report} rows={5}>
        {({ rows }) => (
          <table className="table num">
            <thead>
              <tr>
                <th>Session</th>
                <th className="right">Exchanges</th>
                <th className="right">Tokens out</th>
                <th className="right">From cache</th>
                <th className="right">Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.group}>
                  <td>
                    <Link href={`/sessions/${row.group}`} className="link mono">
                      {shortId(row.group)}
                    </Link>
                  </td>
                  <td className="right">{count(row.exchanges)}</td>
                  <td className="right">{short(row.outputTokens)}</td>
                  <td className="right">{percent(cacheShare(row))}</td>
                  <td className="right">{usd(row.totalUsd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </Card>
  );
}
