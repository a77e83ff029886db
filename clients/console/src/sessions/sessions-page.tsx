import { useVirtualizer } from '@tanstack/react-virtual';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import { sessionStates } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { count, moment, plural, span, usd } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { LiveMark } from '../parts/live-mark.tsx';
import { Age, Badge, Button, Empty, Failure, Loading, StateBadge, useNow } from '../parts/parts.tsx';
import { stateLooks } from '../parts/session-state.ts';
import { useShortcuts } from '../parts/shortcuts.ts';
import { shownLine } from '../session/plain-text.ts';
import { NewSession } from './new-session.tsx';
import { noFilter } from './row-list.ts';
import type { ListFilter } from './row-list.ts';
import { useFacets, useRows } from './use-rows.ts';

const rowHeight = 44;

export function SessionsPage(): ReactNode {
  const [, navigate] = useLocation();
  const [filter, setFilter] = useState<ListFilter>(noFilter);
  const [selected, setSelected] = useState(0);
  const [opening, setOpening] = useState(false);
  const shownFilter = useDeferredValue(filter);
  const list = useRows(shownFilter);
  const facets = useFacets(shownFilter).data;
  const scroller = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const { rows } = list;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 40 && list.hasNextPage && !list.isFetchingNextPage) void list.fetchNextPage();
  }, [last, rows.length, list]);

  const select = (index: number): void => {
    const next = Math.max(0, Math.min(index, rows.length - 1));
    setSelected(next);
    virtual.scrollToIndex(next);
  };
  useShortcuts({
    j: () => select(selected + 1),
    k: () => select(selected - 1),
    Enter: () => rows[selected] !== undefined && navigate(`/sessions/${rows[selected].id}`),
    '/': () => search.current?.focus(),
  });

  return (
    <>
      <header className="page-head">
        <h1>Sessions</h1>
        <LiveMark state={list.stream} />
        <span className="grow" />
        <Button look="primary" icon="plus" shortcut="c" onClick={() => setOpening(true)}>
          New session
        </Button>
      </header>
      <Filters filter={filter} onChange={setFilter} facets={facets} searchField={search} />
      <div className="list-head" aria-hidden="true">
        <span>State</span>
        <span>Instruction</span>
        <span className="hide-narrow">Person</span>
        <span className="hide-narrow">Diff</span>
        <span className="right hide-phone">Cost</span>
        <span className="right">Age</span>
      </div>
      <div className="list" ref={scroller}>
        {list.data === undefined ? (
          list.error === null ? (
            <Loading rows={14} />
          ) : (
            <Failure error={list.error} retry={() => void list.refetch()} />
          )
        ) : rows.length === 0 ? (
          <NothingHere
            filter={shownFilter}
            onClear={() => setFilter(noFilter)}
            onNew={() => setOpening(true)}
          />
        ) : (
          <ul className="list-space" style={{ height: virtual.getTotalSize() }} aria-label="Sessions">
            {shown.map(({ index, start }) => {
              const row = rows[index];
              return row === undefined ? null : (
                <Row key={row.id} row={row} top={start} selected={index === selected} place={index + 1} />
              );
            })}
          </ul>
        )}
      </div>
      {opening ? <NewSession onClose={() => setOpening(false)} /> : null}
    </>
  );
}

function Row({
  row,
  top,
  selected,
  place,
}: {
  row: SessionRow;
  top: number;
  selected: boolean;
  place: number;
}): ReactNode {
  return (
    <li aria-posinset={place} aria-setsize={-1}>
      <Link
        href={`/sessions/${row.id}`}
        className="session-row"
        data-selected={selected}
        style={{ transform: `translateY(${top}px)` }}
      >
        <span className="row" style={{ gap: 6 }}>
          <StateBadge state={row.state} reason={row.reason} />
          {row.waiting > 0 ? <Badge tone="amber">asks</Badge> : null}
        </span>
        <span className="what">
          <span className="truncate" style={{ display: 'block' }}>
            {shownLine(row.instruction)}
          </span>
          <span className="sub truncate" style={{ display: 'block' }}>
            {row.project} · {row.model}
            {row.attempt > 1 ? ` · attempt ${row.attempt}` : ''}
          </span>
        </span>
        <span className="muted truncate hide-narrow">{personName(row.openedBy)}</span>
        <DiffNumbers row={row} />
        <span
          className="right num hide-phone"
          title={row.priced ? 'cost so far' : 'a model of this session has no price'}
        >
          {row.priced ? usd(row.totalCostUsd) : 'unpriced'}
        </span>
        <RowAge row={row} />
      </Link>
    </li>
  );
}

function RowAge({ row }: { row: SessionRow }): ReactNode {
  const now = useNow(10_000);
  const ran =
    row.endedAt === null ? '' : `, took ${span(Date.parse(row.endedAt) - Date.parse(row.createdAt))}`;
  return (
    <span className="right muted" title={`${moment(row.createdAt)}${ran}`}>
      <Age at={row.createdAt} now={now} />
    </span>
  );
}

function DiffNumbers({ row }: { row: SessionRow }): ReactNode {
  if (row.diff === null || row.diff.files === 0) return <span className="faint hide-narrow">–</span>;
  const { insertions, deletions, state } = row.diff;
  return (
    <span
      className="row num hide-narrow"
      style={{ gap: 6 }}
      title={`${plural(row.diff.files, 'file')}, ${state}`}
    >
      <span className="ins">+{count(insertions)}</span>
      <span className="del">−{count(deletions)}</span>
      {state === 'accepted' ? <Icon name="check" size={13} className="ins" /> : null}
      {state === 'rejected' ? <Icon name="cross" size={13} className="del" /> : null}
    </span>
  );
}

/** A subject without the name of its directory. */
export function personName(subject: string): string {
  return subject.replace(/^[a-z-]+:/, '');
}

function Filters({
  filter,
  onChange,
  facets,
  searchField,
}: {
  filter: ListFilter;
  onChange: (filter: ListFilter) => void;
  facets:
    | { states: Record<string, number>; projects: Record<string, number>; people: Record<string, number> }
    | undefined;
  searchField: React.RefObject<HTMLInputElement | null>;
}): ReactNode {
  const toggle = (state: SessionState): void => {
    const states = filter.states.includes(state)
      ? filter.states.filter((one) => one !== state)
      : [...filter.states, state];
    onChange({ ...filter, states });
  };
  const present = useMemo(
    () => sessionStates.filter((state) => (facets?.states[state] ?? 0) > 0 || filter.states.includes(state)),
    [facets, filter.states],
  );
  return (
    <div className="filters" role="search">
      <div className="search">
        <Icon name="search" size={14} />
        <input
          ref={searchField}
          className="input small"
          placeholder="Search instructions and ids"
          aria-label="Search instructions and ids"
          value={filter.search}
          onChange={(event) => onChange({ ...filter, search: event.target.value })}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <span className="kbd" aria-hidden="true">
          /
        </span>
      </div>
      {present.map((state) => (
        <button
          key={state}
          type="button"
          className="chip"
          aria-pressed={filter.states.includes(state)}
          onClick={() => toggle(state)}
        >
          <Icon name={stateLooks[state].icon} size={12} />
          {stateLooks[state].label}
          <span className="num">{count(facets?.states[state] ?? 0)}</span>
        </button>
      ))}
      <span className="grow" />
      <Choice
        label="Project"
        value={filter.project}
        options={Object.keys(facets?.projects ?? {})}
        onChange={(project) => onChange({ ...filter, project })}
      />
      <Choice
        label="Person"
        value={filter.openedBy}
        options={Object.keys(facets?.people ?? {})}
        onChange={(openedBy) => onChange({ ...filter, openedBy })}
      />
    </div>
  );
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}): ReactNode {
  if (options.length < 2 && value === '') return null;
  return (
    <select
      className="input small"
      style={{ width: 'auto', maxWidth: 180 }}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{`Any ${label.toLowerCase()}`}</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {personName(option)}
        </option>
      ))}
    </select>
  );
}

function NothingHere({
  filter,
  onClear,
  onNew,
}: {
  filter: ListFilter;
  onClear: () => void;
  onNew: () => void;
}): ReactNode {
  if (filter !== noFilter)
    return (
      <Empty
        icon="search"
        title="No session matches"
        action={<Button onClick={onClear}>Show all sessions</Button>}
      >
        Nothing in the record fits these words and states.
      </Empty>
    );
  return (
    <Empty
      title="No session yet"
      action={
        <Button look="primary" icon="plus" onClick={onNew}>
          Start the first one
        </Button>
      }
    >
      Give an instruction and a repository. The agent works in a sandbox without a network, and what comes out
      is a diff that you accept.
    </Empty>
  );
}
