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

/** @param wake is called when patience has run out */
export function createUrgency(wake: () => void): Urgency {
  let dueSeq = 0;
  let patientSeq = 0;
  let timer: NodeJS.Timeout | null = null;

  function runOut(): void {
    timer = null;
    dueSeq = Math.max(dueSeq, patientSeq);
    wake();
  }

  return {
    note: (event, seq) => {
      if (!isPatient(event)) {
        dueSeq = seq;
        return;
      }
      patientSeq = seq;
      timer ??= setTimeout(runOut, patienceMs);
    },
    isDue: (acknowledgedSeq) => dueSeq > acknowledgedSeq,
    close: () => {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** More is about to follow: a turn's first words, a call's next state. */
function isPatient(event: ServerEvent): boolean {
  if (event.type === 'turn') return true;
  return event.type === 'tool_call' && intermediateToolCallStates.includes(event.state);
}
