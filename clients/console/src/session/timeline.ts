import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';

type Event<Type extends SessionEvent['type']> = Extract<SessionEvent, { type: Type }>;

/** One tool call as its events have told it so far. */
export interface CallItem {
  readonly kind: 'call';
  readonly key: string;
  readonly at: string;
  readonly callId: string;
  readonly tool: string;
  readonly turn: number;
  state: Event<'tool_call'>['state'];
  title: string;
  decidedBy: 'human' | 'automation' | null;
  exitCode: number | null;
  durationMs: number | null;
  message: string | null;
  preview: string | null;
  droppedBytes: number;
  readonly output: Lines;
  approval: Event<'approval'> | null;
}

/** What the agent said, put together from fragments. */
export interface TextItem {
  readonly kind: 'text';
  readonly key: string;
  readonly at: string;
  readonly turn: number;
  text: string;
}

/** Everything else stands for itself. */
export interface EventItem {
  readonly kind: 'event';
  readonly key: string;
  readonly at: string;
  readonly attempt: number;
  readonly event: Exclude<
    SessionEvent,
    Event<'tool_call'> | Event<'text'> | Event<'output'> | Event<'usage'>
  >;
}

export type TimelineItem = CallItem | TextItem | EventItem;

/** Lines of output, the last one perhaps unfinished; bounded. */
export interface Lines {
  readonly lines: string[];
  /** Lines that were let go of to stay in bounds. */
  dropped: number;
  open: boolean;
}

/** A session's events as a person reads them. */
export interface Timeline {
  readonly items: readonly TimelineItem[];
  readonly position: number;
  /** Turn that runs or ran last. */
  readonly turn: number;
  push(event: PositionedEvent): void;
}

/** Most lines of one call that are kept here; the whole log is in the record. */
export const maxLines = 100_000;

/** Takes events in order, each once; one that was seen already is skipped. */
export function createTimeline(): Timeline {
  const items: TimelineItem[] = [];
  const calls = new Map<string, CallItem>();
  const newestCall = new Map<string, CallItem>();
  const early = new Map<string, Event<'approval'>>();
  let position = 0;
  let turn = 0;

  const callOf = (attempt: number, at: string, event: Event<'tool_call'>): CallItem => {
    const key = `${attempt}/${event.callId}`;
    const known = calls.get(key);
    if (known !== undefined) return known;
    const item: CallItem = {
      kind: 'call',
      key,
      at,
      callId: event.callId,
      tool: event.tool,
      turn: event.turn,
      state: event.state,
      title: '',
      decidedBy: null,
      exitCode: null,
      durationMs: null,
      message: null,
      preview: null,
      droppedBytes: 0,
      output: { lines: [], dropped: 0, open: false },
      approval: early.get(event.callId) ?? null,
    };
    early.delete(event.callId);
    calls.set(key, item);
    newestCall.set(event.callId, item);
    items.push(item);
    return item;
  };

  const takeCall = (attempt: number, at: string, event: Event<'tool_call'>): void => {
    const item = callOf(attempt, at, event);
    item.state = event.state;
    item.title = event.title ?? item.title;
    item.decidedBy = event.decidedBy ?? item.decidedBy;
    item.exitCode = event.exitCode ?? item.exitCode;
    item.durationMs = event.durationMs ?? item.durationMs;
    item.message = event.message ?? item.message;
    item.preview = event.preview ?? item.preview;
    item.droppedBytes = event.droppedBytes ?? item.droppedBytes;
  };

  const takeText = (at: string, event: Event<'text'>): void => {
    const last = items.at(-1);
    if (last?.kind === 'text' && last.turn === event.turn) last.text += event.text;
    else items.push({ kind: 'text', key: `text/${position}`, at, turn: event.turn, text: event.text });
  };

  const takeApproval = (event: Event<'approval'>): void => {
    const call = newestCall.get(event.callId);
    // Facts of the dispatcher can be ahead of what the server reports of the same call.
    if (call === undefined) early.set(event.callId, event);
    else call.approval = event;
  };

  const takeOther = ({ at, attempt }: PositionedEvent, event: EventItem['event']): void => {
    items.push({ kind: 'event', key: `event/${position}`, at, attempt, event });
  };

  return {
    get items() {
      return items;
    },
    get position() {
      return position;
    },
    get turn() {
      return turn;
    },
    push(positioned) {
      if (positioned.position <= position) return;
      position = positioned.position;
      const { event, at, attempt } = positioned;
      if (event.type === 'tool_call') takeCall(attempt, at, event);
      else if (event.type === 'text') takeText(at, event);
      else if (event.type === 'output') addOutput(newestCall.get(event.callId)?.output, event.text);
      else if (event.type === 'approval') takeApproval(event);
      else if (event.type === 'turn') turn = event.turn;
      else if (event.type !== 'usage' && !isQuiet(event)) takeOther(positioned, event);
    },
  };
}

/** Phases show in the session's head; in the timeline they would be noise. */
function isQuiet(event: SessionEvent): boolean {
  return event.type === 'phase';
}

/** Adds a piece of output, which begins and ends anywhere within a line. */
export function addOutput(output: Lines | undefined, text: string): void {
  if (output === undefined || text === '') return;
  const { lines } = output;
  const pieces = text.split('\n');
  const first = pieces.shift() ?? '';
  if (output.open) lines[lines.length - 1] = `${lines.at(-1) ?? ''}${first}`;
  else lines.push(first);
  for (const piece of pieces) lines.push(piece);
  const last = lines.at(-1);
  output.open = last !== '';
  // A closing line feed ends the line before it; it does not begin an empty one.
  if (last === '') lines.pop();
  if (lines.length <= maxLines) return;
  const surplus = lines.length - maxLines;
  lines.splice(0, surplus);
  output.dropped += surplus;
}
