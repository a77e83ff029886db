import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import pc from 'picocolors';
import type { CommandIo } from '../io.ts';
import { createKeys } from './keys.ts';
import type { KeyActions } from './keys.ts';
import { createLiveTerminal } from './live-terminal.ts';
import { createSessionView } from './session-view.ts';
import type { ViewOptions } from './session-view.ts';
import { createStatusLine } from './status-line.ts';

/** Where a followed session appears. */
export interface Screen {
  show(event: PositionedEvent): void;
  note(text: string): void;
  /** Leaves the terminal to a question and takes it back afterwards. */
  aside<Answer>(question: () => Promise<Answer>): Promise<Answer>;
  end(): void;
}

/** Lines one after the other, for pipes and files. */
export function createPlainScreen(out: { write(text: string): unknown }, options: ViewOptions): Screen {
  const view = createSessionView(out, options);
  return {
    show: view.show,
    note: (text) => void out.write(`${text}\n`),
    aside: (question) => {
      view.flush();
      return question();
    },
    end: view.flush,
  };
}

/** The spinner turns ten times a second: fast enough to look alive, slow enough for a line over ssh. */
const tickMs = 100;

/** A person's terminal: lines scroll above a foot that says how far the session is, and single keys act at any time. */
export function createLiveScreen(
  io: Pick<CommandIo, 'stdin' | 'stdout' | 'colour'>,
  { id: sessionId, budget }: Pick<SessionView, 'id' | 'budget'>,
  actions: KeyActions,
  nowMs: () => number,
): Screen {
  const terminal = createLiveTerminal(io.stdout);
  const view = createSessionView(terminal, { colour: io.colour, foldFor: sessionId });
  const status = createStatusLine(pc.createColors(io.colour), nowMs(), budget);
  const keys = createKeys(io.stdin, actions);
  let tick = 0;
  let timer: NodeJS.Timeout | null = null;
  /** Notes of while the terminal belongs to a question, which they would tear. */
  let held: string[] | null = null;

  const turn = (): void => terminal.foot(status.text((tick += 1), nowMs()));
  const begin = (): void => {
    keys.listen();
    timer = setInterval(turn, tickMs);
  };
  const rest = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
    keys.rest();
    view.flush();
    terminal.rest();
  };

  begin();
  return {
    show: (event) => {
      status.hear(event.event);
      view.show(event);
    },
    note: (text) => {
      if (held === null) terminal.write(`${text}\n`);
      else held.push(`${text}\n`);
    },
    aside: async (question) => {
      rest();
      held = [];
      try {
        return await question();
      } finally {
        const notes = held;
        held = null;
        begin();
        for (const text of notes) terminal.write(text);
      }
    },
    end: () => {
      rest();
      terminal.end();
    },
  };
}
