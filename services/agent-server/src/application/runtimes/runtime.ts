import type { Clock } from '@lemniscate/shared/clock.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import type { CheckpointDesk } from '../checkpoints/checkpoint-desk.ts';
import type { EventSink } from '../event-sink.ts';
import type { MessageDesk } from '../message-desk.ts';
import type { Lease } from '../lease.ts';
import type { Dispatcher } from '../ports/dispatcher.ts';
import type { Log } from '../ports/log.ts';
import type { WorkingCopy } from '../ports/working-copies.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { TurnInterrupt } from './turn-interrupt.ts';
import type { PermitDesk } from '../tool-calls/permit-desk.ts';

/** Everything a runtime may touch. The dispatcher decides and meters; the sandbox only computes. */
export interface RuntimeContext {
  readonly order: SessionOrder;
  readonly sandbox: Sandbox;
  readonly workingCopy: Pick<WorkingCopy, 'beganWith'>;
  readonly sink: EventSink;
  readonly permits: PermitDesk;
  readonly lease: Lease;
  readonly dispatcher: Pick<Dispatcher, 'askModel' | 'relayModel'>;
  readonly clock: Clock;
  /** A program that drives the loop and says nothing for so long, while nothing is under way, hangs. */
  readonly programQuietMs: number;
  readonly log: Log;
  /** Aborted by a stop, a stale attempt, a lost sandbox. The runtime then settles within seconds. */
  readonly signal: AbortSignal;
  /** Aborted when nothing of the attempt counts any more: a session that only has to end may still say so. */
  readonly closing: AbortSignal;
  /** Why the session was told to end, once it was. */
  stopped(): EndReason | null;
  readonly messages: MessageDesk;
  readonly checkpoints: CheckpointDesk;
  readonly interrupt: TurnInterrupt;
}

/** The session was put away in the middle of its work; another attempt goes on with it. */
export const paused = Symbol('paused');

/** How a runtime's work ended, and its last words for the person. */
export interface RuntimeEnd {
  readonly reason: EndReason;
  readonly message: string;
}

/**
 * Who drives the loop. `run` settles when the agent has finished, when something ends the session, or soon after the
 * signal was aborted (then it may throw the signal's reason). By then no tool call is in an intermediate state, unless
 * the session is paused: what has not begun by then waits in the runtime's own record of where it is.
 * @throws CodedError for everything that the session's end has to explain
 */
export interface Runtime {
  run(context: RuntimeContext): Promise<RuntimeEnd | typeof paused>;
}
