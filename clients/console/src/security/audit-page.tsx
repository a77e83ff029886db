import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useDeferredValue, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { AuditSearch } from '@lemniscate/shared/audit/search-api.ts';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { moment } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Button, Empty, Loaded, Segments, PageBody } from '../parts/parts.tsx';
import { useShortcuts } from '../parts/shortcuts.ts';
import { EntryTable } from './entry-table.tsx';

const spans = [
  ['1', '24 hours'],
  ['7', '7 days'],
  ['31', '31 days'],
  ['366', 'A year'],
] as const;

const kinds = [
  ['', 'Everything'],
  [
    'approval.requested,approval.voted,approval.decided,diff.decided,diff.voted,budget.extended,budget.declined',
    'Decisions',
  ],
  ['tool.proposed,tool.decided,tool.executed,tool.abandoned', 'Tool calls'],
  ['file.read,file.modified', 'Files'],
  ['model.exchanged', 'Model exchanges'],
  ['egress.connected,egress.refused', 'Network'],
  ['session.revoked,user.revoked,user.restored,session.stopped', 'Revocations and stops'],
  [
    'login.accepted,login.refused,login.ended,role.bound,role.unbound,token.created,token.revoked',
    'Logins and roles',
  ],
  ['policy.changed,config.changed,admin.acted,budget.set,price.set,retention.changed', 'Administration'],
  ['attempt.lost,server.joined,server.left,log.undeliverable,log.restored', 'Faults of the fleet'],
] as const;

const dayMs = 86_400_000;

/** The audit log of all chains, searched. */
export function AuditPage(): ReactNode {
  const [text, setText] = useState('');
  const [types, setTypes] = useState('');
  const [days, setDays] = useState<(typeof spans)[number][0]>('7');
  const [now] = useState(() => Date.now());
  const field = useRef<HTMLInputElement>(null);
  const shownText = useDeferredValue(text.trim());
  const from = new Date(now - Number(days) * dayMs).toISOString();
  const found = useInfiniteQuery({
    queryKey: ['audit', 'search', shownText, types, from],
    placeholderData: keepPreviousData,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET('/v1/audit/search', {
          params: { query: { ...given({ text: shownText, types, from, before: pageParam }), limit: 100 } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.nextBefore,
  });
  useShortcuts({ '/': () => field.current?.focus() });

  return (
    <>
      <header className="page-head">
        <h1>Audit log</h1>
        <span className="muted">every act, of every session and person</span>
        <span className="grow" />
        <Segments label="Span" value={days} onChange={setDays} options={spans} />
      </header>
      <div className="filters" role="search">
        <div className="search">
          <Icon name="search" size={14} />
          <input
            ref={field}
            className="input small"
            placeholder="Person, session, path, tool, host…"
            aria-label="Search entries"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <span className="kbd" aria-hidden="true">
            /
          </span>
        </div>
        <select
          className="input small"
          style={{ width: 'auto' }}
          aria-label="Kind of entry"
          value={types}
          onChange={(event) => setTypes(event.target.value)}
        >
          {kinds.map(([value, name]) => (
            <option key={name} value={value}>
              {name}
            </option>
          ))}
        </select>
        <span className="grow" />
        <span className="hint">since {moment(from)}</span>
      </div>
      <PageBody flush>
        <Loaded query={found} rows={14}>
          {({ pages }) => {
            const entries = pages.flatMap((page) => page.entries);
            if (entries.length === 0)
              return (
                <Empty icon="audit" title="No entry matches">
                  Widen the span, or look for fewer words.
                </Empty>
              );
            return (
              <>
                <EntryTable
                  entries={entries}
                  people={Object.assign({}, ...pages.map((page) => page.people)) as AuditSearch['people']}
                  chains
                />
                {found.hasNextPage ? (
                  <div className="row" style={{ justifyContent: 'center', padding: 16 }}>
                    <Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                      Show older entries
                    </Button>
                  </div>
                ) : null}
              </>
            );
          }}
        </Loaded>
      </PageBody>
    </>
  );
}
