import type { ReactNode } from 'react';
import { plural } from '../parts/format.ts';
import { Card, Empty, Loaded } from '../parts/parts.tsx';
import { useServers } from './servers.tsx';
import { useQueue } from './use-queue.ts';

/** What would help now, from the slots that are free and the sessions that wait. */
export function Recommendations(): ReactNode {
  const servers = useServers();
  const waiting = useQueue().data?.waiting ?? 0;
  return (
    <Card title="What the scaler would do">
      <Loaded query={servers} rows={2}>
        {(list) => {
          const pool = list.filter(({ pinnedTo }) => pinnedTo === null);
          const usable = pool.reduce((sum, one) => sum + one.usable, 0);
          const held = pool.reduce((sum, one) => sum + one.held, 0);
          const missing = waiting - Math.max(0, usable - held);
          if (pool.length === 0) return <Empty icon="server" title="There is no pool" />;
          if (missing > 0)
            return (
              <p>
                Add <strong>{plural(missing, 'slot')}</strong>: {plural(waiting, 'session')} wait and{' '}
                {plural(Math.max(0, usable - held), 'slot')} are free.
              </p>
            );
          return (
            <p className="muted">
              Nothing: {plural(usable - held, 'slot')} of {usable} are free and{' '}
              {waiting === 0 ? 'nothing waits' : 'suffice'}.
            </p>
          );
        }}
      </Loaded>
    </Card>
  );
}
