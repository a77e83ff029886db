import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { Figure } from '../costs/cost-figures.tsx';
import { count, moment, plural, span } from '../parts/format.ts';
import { Age, Badge, Card, Empty, Loaded, useNow, PageBody } from '../parts/parts.tsx';

/** A receiver may be so far behind before it is said in colour. Seconds. */
const lateSeconds = 60;
const silentSeconds = 600;

/** How far each receiver of the audit log is behind it. */
export function ExportersPage(): ReactNode {
  const exporters = useQuery({
    queryKey: ['audit', 'exporters'],
    refetchInterval: 3_000,
    queryFn: () => ask(api.GET('/v1/audit/exporters')),
  });
  const now = useNow();
  return (
    <>
      <header className="page-head">
        <h1>Exporters</h1>
        <span className="muted">how far the receivers are behind the log</span>
      </header>
      <PageBody>
        <div className="page-inner grid">
          <Loaded query={exporters} rows={4}>
            {(report) => (
              <>
                <dl className="figures">
                  <Figure
                    name="Entries in the log"
                    value={count(report.logSize)}
                    note={report.lastEntryAt === null ? '' : `last at ${moment(report.lastEntryAt)}`}
                  />
                  <Figure
                    name="Signed"
                    value={report.lastCheckpoint === null ? '–' : count(report.lastCheckpoint.size)}
                    note={
                      report.lastCheckpoint === null
                        ? 'no checkpoint yet'
                        : `checkpoint ${report.lastCheckpoint.number}, ${span(Math.max(0, now - Date.parse(report.lastCheckpoint.at)))} ago`
                    }
                  />
                  <Figure name="Receivers" value={count(report.sinks.length)} />
                  <Figure
                    name="Refused for good"
                    value={count(report.sinks.reduce((sum, sink) => sum + sink.deadLetters, 0))}
                    note="kept, and told by an entry"
                  />
                </dl>
                <Card title="Receivers" flush>
                  {report.sinks.length === 0 ? (
                    <Empty icon="exporters" title="Nobody receives the log">
                      Name receivers in LEMNISCATE_SINKS; the log itself is whole without them.
                    </Empty>
                  ) : (
                    <table className="table num">
                      <thead>
                        <tr>
                          <th>Receiver</th>
                          <th>State</th>
                          <th className="right">Delivered</th>
                          <th className="right">Behind</th>
                          <th className="right">Lag</th>
                          <th className="right">Checkpoint</th>
                          <th className="right">Refused</th>
                          <th className="right">Last sign</th>
                        </tr>
                      </thead>
                      <tbody>
                        {report.sinks.map((sink) => (
                          <tr key={sink.name}>
                            <td className="mono">{sink.name}</td>
                            <td>
                              <Lag seconds={sink.behindSeconds} />
                            </td>
                            <td className="right">{count(sink.delivered)}</td>
                            <td className="right">
                              {plural(sink.behind, 'entry').replace('entrys', 'entries')}
                            </td>
                            <td className="right">
                              {sink.behindSeconds === null ? '–' : span(sink.behindSeconds * 1_000)}
                            </td>
                            <td className="right">{count(sink.checkpoint)}</td>
                            <td className="right">{count(sink.deadLetters)}</td>
                            <td className="right muted">
                              <Age at={sink.updatedAt} now={now} />
                            </td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  )}
                </Card>
              </>
            )}
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

function Lag({ seconds }: { seconds: number | null }): ReactNode {
  if (seconds === null || seconds < lateSeconds) return <Badge tone="green">up to date</Badge>;
  return seconds < silentSeconds ? <Badge tone="amber">late</Badge> : <Badge tone="red">far behind</Badge>;
}
