import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { cutColumns } from '../columns.ts';
import type { ViewColours } from './colours.ts';

/** What a person wants to know at any moment of a session, in one line. */
export interface StatusLine {
  hear(event: SessionEvent): void;
  /** @param tick counts up, for the spinner */
  text(tick: number, nowMs: number): string;
}

/** Of a title that a status line shows. */
const titleColumns = 40;

const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

/**
 * @param beganAtMs on the same clock as `text` is asked with
 * @param budget as the session began with it; extensions are heard of
 */
export function createStatusLine(
  paint: ViewColours,
  beganAtMs: number,
  budget: Pick<NonNullable<SessionView['budget']>, 'actions' | 'minutes'> | null,
): StatusLine {
  let may = budget;
  let what = 'waiting for a server';
  let actions = 0;
  let turn = 0;
  let cost = '';

  return {
    hear: (event) => {
      switch (event.type) {
        case 'state':
          what = event.state === 'pending' ? 'waiting for a server' : `${event.state} · ${event.phase}`;
          return;
        case 'turn':
          turn = event.turn;
          what = 'the model thinks';
          return;
        case 'text':
          what = 'the model speaks';
          return;
        case 'tool_call':
          if (event.state === 'calling') actions += 1;
          what = [event.tool, event.state, cutColumns(event.title ?? '', titleColumns)]
            .filter((part) => part !== '')
            .join(' · ');
          return;
        case 'usage':
          cost = event.priced ? `$${event.totalCostUsd}` : 'unpriced';
          return;
        case 'extension':
          if (event.state === 'granted' && may !== null)
            may = {
              actions: may.actions + event.grants.actions,
              minutes: may.minutes + event.grants.minutes,
            };
          what = event.state === 'waiting' ? 'waiting for a person' : what;
          return;
        case 'approval':
          what = event.state === 'waiting' ? 'waiting for a person' : what;
          return;
        default:
          return;
      }
    },
    text: (tick, nowMs) => {
      const seconds = Math.floor((nowMs - beganAtMs) / 1000);
      const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
      const facts = [
        makeVisibleLine(what),
        turn === 0 ? '' : `turn ${turn}`,
        may === null
          ? `${actions} ${actions === 1 ? 'action' : 'actions'}`
          : `${actions}/${may.actions} actions`,
        may === null ? clock : `${clock}/${may.minutes} min`,
        cost,
      ].filter((fact) => fact !== '');
      const spinner = frames[tick % frames.length] ?? '';
      return `${paint.cyan(spinner)} ${facts.join(' · ')} ${paint.dim('· s stops · Ctrl-C interrupts')}`;
    },
  };
}
