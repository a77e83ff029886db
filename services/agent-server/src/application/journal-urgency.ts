import { intermediateToolCallStates } from '@lemniscate/shared/tool-call/state.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';

/** Which of a journal's events have to leave now, and which may wait a moment for company. */
export interface Urgency {
  note(event: ServerEvent, seq: number): void;
  /** Something after `acknowledgedSeq` has to leave. */
  isDue(acknowledgedSeq: number): boolean;
  close(): void;
}

/**
 * How long a patient event waits for the next one. The steps of a tool call follow each other within milliseconds; sent
 * one by one, each is a transaction of about 6 ms that the command's first output then waits behind. Nobody sees 10 ms.
 */
const patienceMs = 10;

/**
 * `running` goes a moment after the first question to the model: its transaction holds the session's row for about 5 ms,
 * and an exchange that begins meanwhile waits for it. By then the exchange has begun and the row is free.
 */
const runningPatienceMs = 5;

/** @param wake is called when patience has run out */
export function createUrgency(wake: () => void): Urgency {
  let dueSeq = 0;
  let patientSeq = 0;
  let timer: NodeJS.Timeout | null = null;
  let timerMs = 0;

  function runOut(): void {
    timer = null;
    dueSeq = Math.max(dueSeq, patientSeq);
    wake();
  }

  return {
    note: (event, seq) => {
      const patience = patienceOf(event);
      if (patience === 0) {
        dueSeq = seq;
        return;
      }
      patientSeq = seq;
      if (timer !== null && timerMs <= patience) return;
      if (timer !== null) clearTimeout(timer);
      timerMs = patience;
      timer = setTimeout(runOut, patience);
    },
    isDue: (acknowledgedSeq) => dueSeq > acknowledgedSeq,
    close: () => {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Milliseconds that an event may wait since more is about to follow it: a turn's first words, a call's next state. */
function patienceOf(event: ServerEvent): number {
  if (event.type === 'running') return runningPatienceMs;
  if (event.type === 'turn') return patienceMs;
  return event.type === 'tool_call' && intermediateToolCallStates.includes(event.state) ? patienceMs : 0;
}
