import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { PoolView } from '@lemniscate/shared/api/pool.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { plural, span } from '../parts/format.ts';
import { Badge, Card, Empty, Loaded } from '../parts/parts.tsx';

const lookEveryMs = 5_000;
const looks = {
  out: ['amber', 'grow'],
  in: ['blue', 'shrink'],
  stay: ['green', 'stay'],
} as const;

/** What a scaler that follows the fleet's advice would do with each pool now, and what it goes by. */
export function Recommendations(): ReactNode {
  const pools = useQuery({
    queryKey: ['pools'],
    refetchInterval: lookEveryMs,
    queryFn: () => ask(api.GET('/v1/pools')).then((answer) => answer.pools),
  });
  return (
    <Card title="What the scaler would do">
      <Loaded query={pools} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="server" title="There is no pool" />
          ) : (
            <ul className="stack" style={{ gap: 14 }}>
              {list.map((pool) => (
                <Advice key={pool.pool} pool={pool} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Advice({ pool }: { pool: PoolView }): ReactNode {
  const [tone, word] = looks[pool.action];
  return (
    <li className="stack" style={{ gap: 4 }}>
      <div className="spread">
        <span className="row">
          <strong style={{ fontWeight: 500 }}>{pool.pool}</strong>
          <Badge tone={tone}>{word}</Badge>
          {pool.packing ? <Badge>fills one server first</Badge> : null}
        </span>
        <span className="muted num">
          {pool.servers} → {plural(pool.wantedServers, 'server')}
        </span>
      </div>
      <p className="hint">
        {plural(pool.held, 'slot')} of {pool.slots} held, {plural(pool.waiting, 'session')} wait
        {pool.queueAgeSeconds === null ? '' : ` (longest ${span(pool.queueAgeSeconds * 1_000)})`},{' '}
        {pool.startsPerSecond.toFixed(2)} starts a second: {plural(pool.wantedSlots, 'slot')} would do.
        {pool.warmMisses === 0 ? '' : ` ${plural(pool.warmMisses, 'start')} found no warm sandbox.`}
        {pool.drain.length === 0 ? '' : ` To shrink, drain ${pool.drain.join(', ')}.`}
      </p>
    </li>
  );
}
