import type { TransitionTable } from '../transition-table.ts';

/** The states of a session; a `phase` refines the state and a `reason` explains every pause and end. */
export const sessionStates = [
  'pending',
  'starting',
  'running',
  'paused',
  'completed',
  'failed',
  'timeout',
  'user_stopped',
] as const;
export type SessionState = (typeof sessionStates)[number];

/**
 * The session's table. Back to `pending`: from `starting` or `running` when the attempt is lost, from `paused`
 * on resume. `user_stopped` follows every state that is not an end. `pending → failed` is the queue's deadline,
 * `pending → paused` a person's wish before there was a slot.
 */
export const sessionTransitions: TransitionTable<SessionState> = {
  pending: ['starting', 'paused', 'failed', 'user_stopped'],
  starting: ['running', 'pending', 'failed', 'timeout', 'user_stopped'],
  running: ['completed', 'paused', 'pending', 'failed', 'timeout', 'user_stopped'],
  paused: ['pending', 'completed', 'failed', 'timeout', 'user_stopped'],
  completed: [],
  failed: [],
  timeout: [],
  user_stopped: [],
};

/** What the session is doing inside its state. */
export const sessionPhases = {
  pending: ['queued', 'admitted'],
  starting: ['placing', 'booting', 'preparing'],
  running: ['working', 'waiting', 'pausing', 'finishing'],
  paused: ['stored'],
  completed: ['ended'],
  failed: ['ended'],
  timeout: ['ended'],
  user_stopped: ['ended'],
} as const satisfies Readonly<Record<SessionState, readonly string[]>>;
export type SessionPhase = (typeof sessionPhases)[SessionState][number];

/** Whether nothing can follow. */
export function sessionHasEnded(state: SessionState): boolean {
  return sessionTransitions[state].length === 0;
}
