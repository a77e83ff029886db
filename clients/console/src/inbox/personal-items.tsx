import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { InboxItem } from '@lemniscate/shared/api/inbox.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { Age, Badge, Button, Card, useNow } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';

const lookEveryMs = 5_000;
const key = ['inbox'] as const;

/** What waits for this person alone; approvals and diffs are shown for what they are. */
export function usePersonalItems() {
  return useQuery({
    queryKey: key,
    refetchInterval: lookEveryMs,
    queryFn: () =>
      ask(api.GET('/v1/inbox', { params: { query: { limit: 100 } } })).then(({ items }) =>
        items.filter(({ kind }) => kind !== 'approval'),
      ),
  });
}

/** Mentions, assignments, results and failures, until the person says that they are done. */
export function PersonalItems({ items }: { items: readonly InboxItem[] }): ReactNode {
  const now = useNow(10_000);
  const done = useAct(
    (id: string) =>
      ask(api.PUT('/v1/inbox/{item}', { params: { path: { item: id } }, body: { done: true } })),
    [key],
  );
  return (
    <Card title="For you" aside={<Badge>{items.length}</Badge>} flush>
      <table className="table">
        <thead className="visually-hidden">
          <tr>
            <th>Kind</th>
            <th>What it is about</th>
            <th>Age</th>
            <th>Done</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.id}>
              <td>
                <Badge tone={item.kind === 'failure' ? 'red' : 'grey'}>{item.kind}</Badge>
              </td>
              <td style={{ maxWidth: 0, width: '100%' }} className="truncate">
                {item.session === null ? (
                  shownLine(item.title)
                ) : (
                  <Link href={`/sessions/${item.session}`} className="link">
                    {shownLine(item.title)}
                  </Link>
                )}
              </td>
              <td className="muted right">
                <Age at={item.createdAt} now={now} />
              </td>
              <td>
                <Button
                  look="quiet"
                  icon="check"
                  disabled={done.isPending}
                  onClick={() => done.mutate(item.id)}
                >
                  Done
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
