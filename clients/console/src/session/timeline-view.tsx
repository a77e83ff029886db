import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { useApprovals } from '../api/queries.ts';
import { ApprovalCard } from '../inbox/approval-card.tsx';
import { span, timeOfDay } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { Empty, isLive } from '../parts/parts.tsx';
import { shown } from './plain-text.ts';
import type { Timeline } from './timeline.ts';
import { rowsOf } from './timeline-rows.ts';
import type { TimelineRow } from './timeline-rows.ts';
import { ItemRow } from './timeline-items.tsx';

/** So near to the end counts as being there: then the view follows what comes. Pixels. */
const nearEnd = 80;
const lineHeight = 18;

function estimate(row: TimelineRow | undefined): number {
  if (row?.kind === 'lines') return (row.to - row.from) * lineHeight + 8;
  return row?.kind === 'more' ? 22 : 38;
}

/** What happened in a session, in order: the agent's words, its tool calls with their output, and everything else. */
export function TimelineView({
  session,
  timeline,
  version,
}: {
  session: SessionView;
  timeline: Timeline;
  version: number;
}): ReactNode {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(isLive(session.state));
  // The timeline is one growing record; its version says when it has grown.
  // oxlint-disable-next-line react/exhaustive-deps
  const rows = useMemo(() => rowsOf(timeline.items, unfolded), [timeline, version, unfolded]);
  const waiting = (useApprovals().data ?? []).filter((approval) => approval.sessionId === session.id);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => rows[index]?.key ?? index,
    estimateSize: (index) => estimate(rows[index]),
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 20,
  });
  const height = virtual.getTotalSize();
  useEffect(() => {
    const element = scroller.current;
    if (follows.current && element !== null) element.scrollTop = element.scrollHeight;
  }, [height, waiting.length]);
  const toggle = (key: string): void => {
    follows.current = false;
    setUnfolded((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  };

  return (
    <div
      className="timeline"
      ref={scroller}
      // A long log is read with the keyboard, so the part that scrolls takes the focus.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="log"
      aria-label="Timeline"
      aria-live="off"
      onScroll={({ currentTarget: at }) => {
        follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < nearEnd;
      }}
    >
      <div style={{ padding: '16px 24px 0 20px' }}>
        <div className="t-instruction">
          <pre style={{ font: 'inherit' }}>{shown(session.instruction)}</pre>
        </div>
      </div>
      {rows.length === 0 ? (
        <Empty
          icon="clock"
          title={session.state === 'pending' ? 'Waiting for a server' : 'Nothing has happened yet'}
        >
          {session.queue === null
            ? 'What the agent says and does appears here as it happens.'
            : queueWords(session.queue)}
        </Empty>
      ) : (
        <div className="list-space" style={{ height }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <div
                key={key}
                data-index={index}
                ref={virtual.measureElement}
                className="timeline-row"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row row={row} onToggle={toggle} />
              </div>
            );
          })}
        </div>
      )}
      <div style={{ padding: '0 24px 12px 54px' }}>
        {waiting.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} isFirst={approval === waiting[0]} />
        ))}
      </div>
    </div>
  );
}

/** Where it stands in the queue, and until when, as far as anybody can tell. */
function queueWords(queue: NonNullable<SessionView['queue']>): string {
  if (queue.paused !== null)
    return `Intake of the ${queue.paused} is paused; it waits until an operator resumes it.`;
  if (queue.position === 0) return 'A server is being asked.';
  const wait = queue.estimatedWaitSeconds;
  return `It is number ${queue.position} in the queue${wait === null ? '' : `, about ${span(wait * 1_000)} from now`}.`;
}

function Row({ row, onToggle }: { row: TimelineRow; onToggle: (key: string) => void }): ReactNode {
  if (row.kind === 'item')
    return (
      <div className="t-item">
        <ItemRow item={row.item} />
        <time dateTime={row.item.at}>{timeOfDay(row.item.at)}</time>
      </div>
    );
  const { output, key } = row.item;
  if (row.kind === 'more')
    return (
      <div className="t-more">
        <button
          type="button"
          className="link-button"
          onClick={() => onToggle(key)}
          aria-expanded={row.hidden === 0}
        >
          {row.hidden === 0
            ? 'Fold the output'
            : `Show ${row.hidden.toLocaleString('en-US')} more lines above`}
        </button>
        {output.dropped > 0 ? (
          <span className="faint">
            {' '}
            <Icon name="warning" size={12} /> the first {output.dropped.toLocaleString('en-US')} lines are in
            the record alone
          </span>
        ) : null}
      </div>
    );
  const isLast = row.to === output.lines.length;
  return (
    <div className={`t-lines ${isLast ? 'last' : ''}`}>
      {output.lines.slice(row.from, row.to).map((line, index) => (
        // Lines never change their place.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={row.from + index}>{shown(line) || ' '}</div>
      ))}
    </div>
  );
}
