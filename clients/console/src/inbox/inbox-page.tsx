import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useApprovals } from '../api/queries.ts';
import { plural, shortId } from '../parts/format.ts';
import { Age, Badge, Card, Empty, Loaded, useNow, PageBody } from '../parts/parts.tsx';
import { reasonWords } from '../parts/session-state.ts';
import { useShortcuts } from '../parts/shortcuts.ts';
import { shownLine } from '../session/plain-text.ts';
import { ApprovalCard } from './approval-card.tsx';
import { PersonalItems, usePersonalItems } from './personal-items.tsx';

const lookEveryMs = 5_000;

function useRowsOf(name: string, states: string) {
  return useQuery({
    queryKey: ['rows', name],
    refetchInterval: lookEveryMs,
    queryFn: () =>
      ask(api.GET('/v1/session-rows', { params: { query: { states, limit: 200 } } })).then(
        ({ rows }) => rows,
      ),
  });
}

/** Everything that waits for a person: calls to approve, sessions that ask, diffs to review. */
export function InboxPage(): ReactNode {
  const approvals = useApprovals();
  const asking = (useRowsOf('asking', 'paused,running').data ?? []).filter((row) =>
    ['awaiting_message', 'awaiting_extension'].includes(row.reason ?? ''),
  );
  const ended = useRowsOf('ended', 'completed,timeout,failed');
  const offered = (ended.data ?? []).filter((row) => row.diff?.state === 'offered' && row.diff.files > 0);
  const personal = usePersonalItems().data ?? [];
  const [at, setAt] = useState(0);
  const waiting = approvals.data ?? [];
  const current = Math.min(at, Math.max(0, waiting.length - 1));
  useShortcuts({
    j: () => setAt(Math.min(current + 1, waiting.length - 1)),
    k: () => setAt(Math.max(current - 1, 0)),
  });

  return (
    <>
      <header className="page-head">
        <h1>Inbox</h1>
        <span className="muted">what waits for a person</span>
      </header>
      <PageBody>
        <div className="page-inner grid" style={{ maxWidth: 860 }}>
          <Loaded query={approvals}>
            {(list) =>
              list.length + asking.length + offered.length + personal.length === 0 ? (
                <Empty icon="inbox" title="Nothing waits for you">
                  Calls that the policy asks a person about, sessions that want an answer and diffs to review
                  appear here.
                </Empty>
              ) : (
                <>
                  {list.length === 0 ? null : (
                    <section aria-label="Approvals">
                      <h2 style={{ marginBottom: 8 }}>Approvals</h2>
                      {list.map((approval, index) => (
                        <div key={approval.id} className="inbox-item">
                          <Link href={`/sessions/${approval.sessionId}`} className="link mono">
                            {shortId(approval.sessionId)}
                          </Link>
                          <ApprovalCard approval={approval} isFirst={index === current} />
                        </div>
                      ))}
                    </section>
                  )}
                  {personal.length === 0 ? null : <PersonalItems items={personal} />}
                  {asking.length === 0 ? null : <Rows title="Sessions that ask" rows={asking} />}
                  {offered.length === 0 ? null : <Rows title="Diffs to review" rows={offered} review />}
                </>
              )
            }
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

function Rows({
  title,
  rows,
  review = false,
}: {
  title: string;
  rows: readonly SessionRow[];
  review?: boolean;
}): ReactNode {
  const now = useNow(10_000);
  return (
    <Card title={title} aside={<Badge>{rows.length}</Badge>} flush>
      <table className="table">
        <thead className="visually-hidden">
          <tr>
            <th>Instruction</th>
            <th>What waits</th>
            <th>Age</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td style={{ maxWidth: 0, width: '100%' }} className="truncate">
                <Link href={`/sessions/${row.id}${review ? '/diff' : ''}`} className="link">
                  {shownLine(row.instruction)}
                </Link>
              </td>
              <td className="muted num" style={{ whiteSpace: 'nowrap' }}>
                {review && row.diff !== null ? (
                  <>
                    {plural(row.diff.files, 'file')} <span className="ins">+{row.diff.insertions}</span>{' '}
                    <span className="del">−{row.diff.deletions}</span>
                  </>
                ) : (
                  reasonWords(row.reason ?? '')
                )}
              </td>
              <td className="muted right">
                <Age at={row.endedAt ?? row.createdAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
