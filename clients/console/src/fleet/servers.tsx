import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import { plural } from '../parts/format.ts';
import { Age, Badge, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';

/** An agent server as `GET /v1/servers` shows it. */
export interface ServerView {
  readonly id: string;
  readonly url: string;
  readonly pool: string;
  readonly capacity: number;
  readonly usable: number;
  readonly held: number;
  readonly warm: number;
  readonly driver: string | null;
  readonly draining: boolean;
  readonly unhealthy: string | null;
  readonly pinnedTo: string | null;
  readonly seenAt: string | null;
}

const lookEveryMs = 2_000;

export function useServers() {
  return useQuery({
    queryKey: ['servers'],
    refetchInterval: lookEveryMs,
    queryFn: () => api<{ servers: ServerView[] }>('/v1/servers').then(({ servers }) => servers),
  });
}

/** Pools and their servers: what they hold, what is warm, and why one takes nothing. */
export function Servers(): ReactNode {
  const servers = useServers();
  return (
    <Loaded query={servers} rows={4}>
      {(list) =>
        list.length === 0 ? (
          <Card title="Servers">
            <Empty icon="server" title="No agent server has ever answered">
              Name them in AGENT_SERVERS; each is asked until it answers.
            </Empty>
          </Card>
        ) : (
          Object.entries(Object.groupBy(list, ({ pool }) => pool)).map(([pool, members = []]) => (
            <Pool key={pool} pool={pool} servers={members} />
          ))
        )
      }
    </Loaded>
  );
}

/** What it can hold now; what is configured where it takes nothing at present. */
function slotsOf(server: ServerView): number {
  return server.usable > 0 ? server.usable : server.capacity;
}

function Pool({ pool, servers }: { pool: string; servers: readonly ServerView[] }): ReactNode {
  const now = useNow(2_000);
  const total = (of: 'usable' | 'held' | 'warm' | 'capacity'): number =>
    servers.reduce((sum, one) => sum + one[of], 0);
  return (
    <Card
      title={`Pool ${pool}`}
      aside={
        <span className="muted num">
          {plural(servers.length, 'server')} · {total('held')} of {plural(total('usable'), 'slot')} held ·{' '}
          {total('warm')} warm
        </span>
      }
      flush
    >
      <table className="table num">
        <thead>
          <tr>
            <th>Server</th>
            <th>State</th>
            <th style={{ width: '26%' }}>Load</th>
            <th className="right">Warm</th>
            <th>Driver</th>
            <th className="right">Heard of</th>
          </tr>
        </thead>
        <tbody>
          {servers.map((server) => (
            <tr key={server.id}>
              <td>
                <span className="mono">{server.id}</span>
                {server.pinnedTo === null ? null : <span className="faint"> of {server.pinnedTo}</span>}
              </td>
              <td>
                <State server={server} />
              </td>
              <td>
                <div className="row">
                  <div className="bar grow" title={`${server.held} of ${slotsOf(server)} slots`}>
                    <i
                      style={{ width: `${Math.min(1, server.held / Math.max(1, slotsOf(server))) * 100}%` }}
                    />
                  </div>
                  <span className="muted">
                    {server.held}/{slotsOf(server)}
                  </span>
                </div>
              </td>
              <td className="right">{server.warm}</td>
              <td>{server.driver ?? '–'}</td>
              <td className="right muted">
                {server.seenAt === null ? 'never' : <Age at={server.seenAt} now={now} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function State({ server }: { server: ServerView }): ReactNode {
  if (server.unhealthy !== null)
    return (
      <span className="row">
        <Badge tone="red">unhealthy</Badge>
        <span className="hint">{shownLine(server.unhealthy)}</span>
      </span>
    );
  if (server.draining) return <Badge tone="amber">draining</Badge>;
  if (server.usable === 0) return <Badge tone="red">silent</Badge>;
  return <Badge tone="green">takes sessions</Badge>;
}
