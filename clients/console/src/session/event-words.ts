import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { bytes, plural, span } from '../parts/format.ts';
import type { IconName } from '../parts/icons.tsx';
import { reasonWords, stateLooks } from '../parts/session-state.ts';
import { shown, shownLine } from './plain-text.ts';
import type { EventItem } from './timeline.ts';

/** An event of the timeline in words. */
export interface EventWords {
  readonly icon: IconName;
  readonly text: string;
  /** Somebody's own words, which are shown as such. */
  readonly isSaid?: boolean;
}

/** Characters of a state's message in the timeline; the whole stands beside it. */
const longestReason = 300;

/** What a person is told of everything in a session that is neither the agent's words nor a tool call. */
export function describeEvent(event: EventItem['event'], attempt: number): EventWords {
  switch (event.type) {
    case 'state':
      return describeState(event);
    case 'running': {
      const again = attempt > 1 ? `, attempt ${attempt}` : '';
      const warm = event.warm ? 'warm' : 'cold';
      return { icon: 'server', text: `Sandbox ready: ${shownLine(event.driver)}, ${warm}${again}` };
    }
    case 'message':
      return event.text === undefined
        ? { icon: 'message', text: messageWords[event.state] }
        : { icon: 'message', text: shown(event.text), isSaid: true };
    case 'extension':
      return {
        icon: 'clock',
        text: `Budget used up (${event.used.actions} actions, ${event.used.minutes.toFixed(1)} min): ${event.state}`,
      };
    case 'approval':
      return { icon: 'flag', text: `Approval ${event.state}: ${shownLine(event.title)}` };
    case 'diff':
      return {
        icon: 'diff',
        text: `Diff ${event.state}: ${plural(event.files, 'file')}, +${event.insertions} −${event.deletions}`,
      };
    case 'gap':
      return {
        icon: 'warning',
        text: `Events ${event.from} to ${event.to} cannot be shown: ${shownLine(event.reason)}`,
      };
    case 'notice':
      return { icon: 'dot', text: shown(event.text) };
    case 'egress':
      return describeEgress(event);
    case 'checkpoint':
      return { icon: 'dot', text: `Checkpoint ${event.number}: ${bytes(event.bytes)}` };
    case 'compaction':
      return {
        icon: 'dot',
        text: `The conversation was cut short: ${plural(event.messages, 'message')} became notes`,
      };
    case 'delegation':
      return { icon: 'agent', text: `Sub-agent ${event.sessionId}: ${delegationWords[event.state]}` };
    case 'reported_usage': {
      const input = event.inputTokens + event.cacheReadTokens + event.cacheWriteTokens;
      return {
        icon: 'dot',
        text: `The agent’s own count: ${plural(input, 'token')} in, ${event.outputTokens} out`,
      };
    }
    case 'turn':
    case 'phase':
      return { icon: 'dot', text: event.type };
    default:
      return ofNewerFleet(event);
  }
}

/** A page that was open while the fleet was upgraded may hear of what it has no words for. */
function ofNewerFleet(event: never): EventWords {
  return { icon: 'dot', text: shownLine((event as SessionEvent).type) };
}

function describeState(event: Extract<SessionEvent, { type: 'state' }>): EventWords {
  const where = event.server === null ? '' : ` on ${shownLine(event.server)}`;
  const why = event.reason === null ? '' : ` · ${reasonWords(event.reason)}`;
  const again = event.attempt > 1 ? ` · attempt ${event.attempt}` : '';
  // What a session says when it has finished stands above already, in the agent's own words.
  const isSaid = event.message === undefined || event.state === 'completed';
  const said = isSaid ? '' : ` · ${shownLine(event.message ?? '').slice(0, longestReason)}`;
  const { icon, label } = stateLooks[event.state];
  return { icon, text: `${label}${where}${why}${again}${said}` };
}

function describeEgress(event: Extract<SessionEvent, { type: 'egress' }>): EventWords {
  const place = `${shownLine(event.host)}:${event.port}`;
  if (event.outcome === 'connected') return { icon: 'flag', text: `Connected to ${place}` };
  if (event.outcome === 'refused')
    return { icon: 'dot', text: `Not connected to ${place}: ${shownLine(event.why ?? 'refused')}` };
  const open = event.durationMs === undefined ? '' : ` in ${span(event.durationMs)}`;
  return {
    icon: 'dot',
    text: `Closed ${place}: ${bytes(event.sentBytes ?? 0)} sent, ${bytes(event.receivedBytes ?? 0)} received${open}`,
  };
}

const messageWords = {
  awaited: 'Has answered, and waits for your next message',
  sent: 'Message sent',
  ended: 'Finished by its person',
  idled: 'Nobody answered in time',
  withdrawn: 'Message withdrawn',
} as const;

const delegationWords = { opened: 'works on a part of the task', reported: 'has reported' } as const;
