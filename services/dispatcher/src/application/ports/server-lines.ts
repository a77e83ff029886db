import type { LineAnswer, LineMessage, LineRequest } from '@lemniscate/shared/protocol/server-line.ts';

/**
 * Requests to agent servers that fetch them. Whichever dispatcher asks and whichever one the server has reached, they
 * meet. Nothing is kept for longer than the asker waits.
 */
export interface ServerLines {
  /** @throws CodedError `service_unreachable`: nobody answered in time, or too much waits already */
  ask(serverId: string, message: LineMessage, timeoutMs: number): Promise<LineAnswer>;
  /** What waits for the server; empty when nothing came within the time or the signal was aborted. */
  next(serverId: string, waitMs: number, gone: AbortSignal): Promise<readonly LineRequest[]>;
  /** Hands an answer to whoever asked; one that nobody waits for any more is dropped. */
  answer(serverId: string, answer: LineAnswer): Promise<void>;
}
