import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';

/** An approval that waits, and the session in which it is answered. */
export interface Question {
  readonly sessionId: string;
  readonly approvalId: string;
}

/** The questions that wait in the editor while the session goes on being followed. */
export interface Questions {
  hear(event: SessionEvent): void;
  /** Withdraws what still waits. @throws the first failure of those that were asked */
  settle(): Promise<void>;
}

/** @param ask puts one to the person; its signal says that it was answered elsewhere */
export function createQuestions(
  sessionId: string,
  ask: (question: Question, withdrawn: AbortSignal) => Promise<void>,
): Questions {
  const asked = new Map<string, AbortController>();
  const asking: Promise<void>[] = [];
  const failures: unknown[] = [];

  return {
    hear: (event) => {
      if (event.type !== 'approval') return;
      const { approvalId } = event;
      if (event.state !== 'waiting') {
        asked.get(approvalId)?.abort();
        return;
      }
      if (asked.has(approvalId)) return;
      const withdrawn = new AbortController();
      asked.set(approvalId, withdrawn);
      // A sub-agent's question is answered in its own session.
      const question = { sessionId: event.sessionId ?? sessionId, approvalId };
      asking.push(
        ask(question, withdrawn.signal).catch((error: unknown) => {
          failures.push(error);
        }),
      );
    },
    settle: async () => {
      for (const question of asked.values()) question.abort();
      await Promise.all(asking);
      if (failures.length > 0) throw failures[0];
    },
  };
}
