import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { moment, plural } from '../parts/format.ts';
import { Age, Badge, Button, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import type { Tone } from '../parts/session-state.ts';
import { shownLine } from '../session/plain-text.ts';

const lookEveryMs = 2_000;

export function useServers() {
  return useQuery({
    queryKey: ['servers'],
    refetchInterval: lookEveryMs,
    queryFn: () => ask(api.GET('/v1/servers')).then(({ servers }) => servers),
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
            <th>
              <span className="visually-hidden">Acts</span>
            </th>
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
              <td className="right" style={{ whiteSpace: 'nowrap' }}>
                <Acts server={server} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function State({ server }: { server: ServerView }): ReactNode {
  const why = server.unhealthy ?? server.outBecause;
  const [tone, word] = lookOf(server);
  return (
    <span className="row">
      <Badge tone={tone}>{word}</Badge>
      {why === null || server.drained ? null : <span className="hint">{shownLine(why)}</span>}
      {server.drainDeadline === null ? null : (
        <span className="hint">until {moment(server.drainDeadline)}</span>
      )}
      {server.clamp === null ? null : (
        <span className="hint">new: {plural(server.clamp, 'slot')} at first</span>
      )}
    </span>
  );
}

function lookOf(server: ServerView): readonly [Tone, string] {
  if (server.unhealthy !== null) return ['red', 'unhealthy'];
  if (server.drained || server.draining) return ['amber', server.held === 0 ? 'drained' : 'draining'];
  if (server.outBecause !== null || server.usable === 0) return ['red', 'out'];
  return ['green', 'takes sessions'];
}

/** What an operator does with a server. Workstations are their people's own. */
function Acts({ server }: { server: ServerView }): ReactNode {
  const [draining, setDraining] = useState(false);
  const mayOperate = useHasRole('operator', 'administrator');
  const params = { path: { id: server.id }, header: seenHeader(server) };
  const putBack = useAct(() => ask(api.DELETE('/v1/servers/{id}/drain', { params })), [['servers']]);
  const approve = useAct(() => ask(api.PUT('/v1/servers/{id}/approval', { params })), [['servers']]);
  if (!mayOperate || server.pinnedTo !== null) return null;
  return (
    <span className="row" style={{ justifyContent: 'flex-end' }}>
      {server.clamp === null ? null : (
        <Button disabled={approve.isPending} onClick={() => approve.mutate()}>
          Approve
        </Button>
      )}
      {server.drained ? (
        <Button
          disabled={putBack.isPending}
          onClick={() => putBack.mutate()}
          aria-label={`Put back ${server.id}`}
        >
          Put back
        </Button>
      ) : (
        <Button onClick={() => setDraining(true)} aria-label={`Drain ${server.id}`}>
          Drain
        </Button>
      )}
      {draining ? <Drain server={server} onClose={() => setDraining(false)} /> : null}
    </span>
  );
}

const deadlines = [
  ['', 'let what runs there finish'],
  ['300', 'move what still runs after 5 minutes'],
  ['3600', 'move what still runs after an hour'],
  ['0', 'move everything at once'],
] as const;

function Drain({ server, onClose }: { server: ServerView; onClose: () => void }): ReactNode {
  const [deadline, setDeadline] = useState<string>('');
  const drain = useAct(
    () =>
      ask(
        api.PUT('/v1/servers/{id}/drain', {
          params: { path: { id: server.id }, header: seenHeader(server) },
          body: deadline === '' ? {} : { deadlineSeconds: Number(deadline) },
        }),
      ),
    [['servers']],
    onClose,
  );
  return (
    <FormDialog
      title={`Drain ${server.id}`}
      act={drain}
      submit={() => drain.mutate()}
      submitWord="Drain server"
      onClose={onClose}
    >
      <p>It gets no new sessions. {plural(server.held, 'session')} run there now.</p>
      <label className="field">
        <span>And then</span>
        <select
          className="input"
          data-first
          value={deadline}
          onChange={(event) => setDeadline(event.target.value)}
        >
          {deadlines.map(([seconds, words]) => (
            <option key={seconds} value={seconds}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  );
}
