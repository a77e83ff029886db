import type { ReactNode } from 'react';
import { bytes, span } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import type { IconName } from '../parts/icons.tsx';
import { Badge } from '../parts/parts.tsx';
import type { Tone } from '../parts/session-state.ts';
import { describeEvent } from './event-words.ts';
import { shown, shownLine } from './plain-text.ts';
import type { CallItem, EventItem, TimelineItem } from './timeline.ts';

/** One item: its mark and what it says. */
export function ItemRow({ item }: { item: TimelineItem }): ReactNode {
  if (item.kind === 'text')
    return (
      <>
        <span className="mark">
          <Icon name="spark" size={15} />
        </span>
        <div className="t-text">{shown(item.text)}</div>
      </>
    );
  if (item.kind === 'call') return <Call call={item} />;
  return <Event item={item} />;
}

const toolIcons: Readonly<Record<string, IconName>> = {
  run_command: 'terminal',
  read_file: 'file',
  write_file: 'pencil',
  edit_file: 'pencil',
  list_files: 'file',
  search_files: 'search',
};

const callLooks: Readonly<Record<CallItem['state'], { tone: Tone; text: string }>> = {
  generating: { tone: 'grey', text: 'writing' },
  generated: { tone: 'grey', text: 'proposed' },
  calling: { tone: 'blue', text: 'running' },
  done: { tone: 'green', text: 'done' },
  errored: { tone: 'red', text: 'errored' },
  canceled: { tone: 'grey', text: 'canceled' },
};

function Call({ call }: { call: CallItem }): ReactNode {
  const facts = [
    call.exitCode === null ? null : `exit ${call.exitCode}`,
    call.durationMs === null ? null : span(call.durationMs),
    call.droppedBytes > 0 ? `${bytes(call.droppedBytes)} cut` : null,
    call.decidedBy === 'human' ? 'approved by a person' : null,
  ].filter((fact) => fact !== null);
  const title = call.title.startsWith(`${call.tool} `) ? call.title.slice(call.tool.length + 1) : call.title;
  return (
    <>
      <span className="mark">
        <Icon name={toolIcons[call.tool] ?? 'terminal'} size={15} />
      </span>
      <div className="t-call" data-state={call.state}>
        <div className="head">
          <span className="tool">{call.tool.replaceAll('_', ' ')}</span>
          <code className="title" title={shownLine(title)}>
            {shownLine(title)}
          </code>
          <CallState call={call} />
          {facts.length === 0 ? null : <span className="facts-line num">{facts.join(' · ')}</span>}
        </div>
        {call.message === null ? null : <div className="t-event">{shown(call.message)}</div>}
      </div>
    </>
  );
}

/** What went as expected says so with a tick; only the rest takes room. */
function CallState({ call }: { call: CallItem }): ReactNode {
  if (call.approval?.state === 'waiting') return <Badge tone="amber">asks</Badge>;
  const failed = call.exitCode !== null && call.exitCode !== 0;
  const { tone, text } = callLooks[call.state];
  if (call.state !== 'done' || failed) return <Badge tone={failed ? 'amber' : tone}>{text}</Badge>;
  return (
    <span className="ins" title="done" style={{ display: 'inline-grid' }}>
      <Icon name="check" size={14} />
      <span className="visually-hidden">done</span>
    </span>
  );
}

function Event({ item }: { item: EventItem }): ReactNode {
  const { icon, text, isSaid } = describeEvent(item.event, item.attempt);
  return (
    <>
      <span className="mark">
        <Icon name={icon} size={14} />
      </span>
      <div className="t-event">{isSaid ? <div className="t-instruction">{text}</div> : text}</div>
    </>
  );
}
