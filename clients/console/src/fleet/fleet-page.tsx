import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { QueueReport, StartReport } from '@lemniscate/shared/api/fleet-health.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { Figure } from '../costs/cost-figures.tsx';
import { BarChart } from '../parts/bar-chart.tsx';
import { count, plural, span } from '../parts/format.ts';
import { Badge, Card, Empty, Loaded, Segments, PageBody } from '../parts/parts.tsx';
import { reasonWords } from '../parts/session-state.ts';
import { Intake } from './intake.tsx';
import { Recommendations } from './recommendations.tsx';
import { Servers } from './servers.tsx';
import { StopEverything } from './stop-everything.tsx';
import { useQueue } from './use-queue.ts';

const spans = [
  ['6', '6 hours'],
  ['24', '24 hours'],
  ['168', '7 days'],
] as const;

/** What an operator looks at: servers, the queue, how fast sessions start, and why they fail. */
export function FleetPage(): ReactNode {
  const [hours, setHours] = useState<(typeof spans)[number][0]>('24');
  const queue = useQueue();
  const starts = useQuery({
    queryKey: ['fleet', 'starts', hours],
    refetchInterval: 15_000,
    queryFn: () => ask(api.GET('/v1/fleet/starts', { params: { query: { hours: Number(hours) } } })),
  });
  return (
    <>
      <header className="page-head">
        <h1>Fleet</h1>
        <span className="grow" />
        <Intake />
        <StopEverything />
        <Segments label="Span" value={hours} onChange={setHours} options={spans} />
      </header>
      <PageBody>
        <div className="page-inner grid">
          <Loaded query={starts} rows={2}>
            {(report) => <Numbers report={report} queue={queue.data} />}
          </Loaded>
          <Servers />
          <div className="grid two">
            <Card title="Queue" flush>
              <Loaded query={queue} rows={4}>
                {(report) => <Queue report={report} />}
              </Loaded>
            </Card>
            <Recommendations />
          </div>
          <Loaded query={starts} rows={6}>
            {(report) => (
              <>
                <Hours report={report} />
                <div className="grid two">
                  <Ends report={report} />
                  <Attempts report={report} />
                </div>
              </>
            )}
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

const spanOrDash = (ms: number | null): string => (ms === null ? '–' : span(ms));

function Numbers({ report, queue }: { report: StartReport; queue: QueueReport | undefined }): ReactNode {
  const ended = report.reasons.reduce((sum, { sessions }) => sum + sessions, 0);
  const failed = report.reasons
    .filter(({ state }) => state === 'failed' || state === 'timeout')
    .reduce((sum, { sessions }) => sum + sessions, 0);
  return (
    <dl className="figures">
      <Figure
        name="Waiting now"
        value={queue === undefined ? '…' : count(queue.waiting)}
        note={
          queue === undefined || queue.oldestSeconds === null
            ? 'nothing waits'
            : `oldest ${span(queue.oldestSeconds * 1_000)}`
        }
      />
      <Figure
        name="Started"
        value={count(report.started)}
        note={`in ${spans.find(([name]) => Number(name) === report.sinceHours)?.[1] ?? ''}`}
      />
      <Figure
        name="Wait for a server"
        value={spanOrDash(report.queued.p50)}
        note={`p95 ${spanOrDash(report.queued.p95)}, p99 ${spanOrDash(report.queued.p99)}`}
      />
      <Figure
        name="Start there"
        value={spanOrDash(report.starting.p50)}
        note={`p95 ${spanOrDash(report.starting.p95)}, p99 ${spanOrDash(report.starting.p99)}`}
      />
      <Figure
        name="Failed"
        value={count(failed)}
        note={
          ended === 0
            ? 'nothing has ended'
            : `${((failed / ended) * 100).toFixed(1)}% of ${plural(ended, 'end')}`
        }
      />
    </dl>
  );
}

function Queue({ report }: { report: QueueReport }): ReactNode {
  if (report.projects.length === 0)
    return (
      <Empty icon="queue" title="Nothing waits and nothing runs">
        Sessions appear here from their order on.
      </Empty>
    );
  return (
    <table className="table num">
      <thead>
        <tr>
          <th>Project</th>
          <th className="right">Waiting</th>
          <th className="right">Running</th>
          <th className="right">Oldest</th>
        </tr>
      </thead>
      <tbody>
        {report.projects.map((one) => (
          <tr key={one.project}>
            <td>{one.project}</td>
            <td className="right">{count(one.waiting)}</td>
            <td className="right">{count(one.running)}</td>
            <td className="right">{one.oldestSeconds === null ? '–' : span(one.oldestSeconds * 1_000)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const dayTime = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 13)}h`;

function Hours({ report }: { report: StartReport }): ReactNode {
  return (
    <div className="grid two">
      <Card title="Ends an hour">
        <BarChart
          title="Sessions that ended, by hour"
          groups={['went through', 'failed']}
          colours={[1, 3]}
          width={500}
          bars={report.hours.map((hour) => ({
            name: dayTime(hour.at),
            parts: [
              { group: 'went through', value: hour.ended - hour.failed },
              { group: 'failed', value: hour.failed },
            ],
          }))}
          show={(value) => count(Math.round(value))}
        />
      </Card>
      <Card title="Start latency an hour, p95">
        <BarChart
          title="Wait for a server and start there, 95th percentile by hour"
          groups={['wait', 'start']}
          width={500}
          bars={report.hours.map((hour) => ({
            name: dayTime(hour.at),
            parts: [
              { group: 'wait', value: hour.queuedP95 ?? 0 },
              { group: 'start', value: hour.startingP95 ?? 0 },
            ],
          }))}
          show={(value) => (value === 0 ? '0' : span(value))}
        />
      </Card>
    </div>
  );
}

const tones = { completed: 'green', failed: 'red', timeout: 'amber', user_stopped: 'grey' } as const;

function Ends({ report }: { report: StartReport }): ReactNode {
  const whole = report.reasons.reduce((sum, { sessions }) => sum + sessions, 0);
  return (
    <Card title="Ends by reason" flush>
      {whole === 0 ? (
        <Empty icon="pulse" title="No session has ended in these hours" />
      ) : (
        <table className="table num">
          <thead>
            <tr>
              <th>Reason</th>
              <th>State</th>
              <th className="right">Sessions</th>
              <th style={{ width: '30%' }}>Share</th>
            </tr>
          </thead>
          <tbody>
            {report.reasons.map(({ state, reason, sessions }) => (
              <tr key={`${state}/${reason}`}>
                <td>{reasonWords(reason)}</td>
                <td>
                  <Badge tone={tones[state as keyof typeof tones] ?? 'grey'}>{reasonWords(state)}</Badge>
                </td>
                <td className="right">{count(sessions)}</td>
                <td>
                  <div className="bar">
                    <i
                      className={state === 'failed' ? 'red' : ''}
                      style={{ width: `${(sessions / whole) * 100}%` }}
                    />
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Attempts({ report }: { report: StartReport }): ReactNode {
  return (
    <Card title="Attempts that were lost or refused" flush>
      {report.attempts.length === 0 ? (
        <Empty icon="check" title="None">
          Every server kept what it was given.
        </Empty>
      ) : (
        <table className="table num">
          <thead>
            <tr>
              <th>Server</th>
              <th>What</th>
              <th className="right">Attempts</th>
            </tr>
          </thead>
          <tbody>
            {report.attempts.map((one) => (
              <tr key={`${one.server}/${one.state}`}>
                <td className="mono">{one.server}</td>
                <td>
                  <Badge tone={one.state === 'lost' ? 'red' : 'amber'}>{one.state}</Badge>
                </td>
                <td className="right">{count(one.attempts)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
