import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A message of a session's person as its row has it. */
export interface MessageRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly number: number;
  readonly state: 'awaited' | 'sent' | 'ended' | 'idled' | 'withdrawn';
  readonly text: string | null;
}

export const messageColumns = 'session_id, number, state, text';

export function messageEvent({ number, state, text }: MessageRow): DispatcherEvent {
  return { type: 'message', number, state, ...(text === null ? {} : { text }) };
}

/** The message that the session waits for, if it waits. Sent before the first await. */
export async function findAwaited(tx: Transaction, sessionId: string): Promise<MessageRow | null> {
  const [row] = await tx.query<MessageRow>(
    `SELECT ${messageColumns} FROM session_messages WHERE session_id = $1 AND state = 'awaited'`,
    [sessionId],
  );
  return row ?? null;
}
