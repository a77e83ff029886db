import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import { cut } from '../text-stream.ts';
import type { PauseWish } from './pause-wish.ts';
import type { TakeCheckpointDeps } from './take-checkpoint.ts';
import { takeCheckpoint } from './take-checkpoint.ts';

/** Where a runtime says that the session could go on from here. */
export interface CheckpointDesk {
  /** Aborted while the session is to be paused; new ones after each pause that did not come about. */
  readonly wish: Pick<PauseWish, 'signal' | 'urgentSignal'>;
  /**
   * The session is to be paused and nothing of it is in `calling`: stops its commands and stores all of it.
   * @param saved what the runtime needs to go on
   * @returns `paused`: the attempt is over. `stay`: what it waited for has come, or it could not be stored; it goes on
   * @throws the signal's reason, `attempt_stale`
   */
  pause(saved: JsonValue): Promise<'paused' | 'stay'>;
  /** Between two turns: stores the session when that is due. A failure is told and costs the checkpoint alone. */
  between(saved: () => JsonValue): Promise<void>;
  /** Whether a checkpoint between two turns is due. */
  due(): boolean;
  /** One that was due could not be taken now; it is tried again after as long as between any two. */
  passed(): void;
  /** What the runtime saved; null at the beginning of a session. */
  readonly resumed: JsonValue | null;
}

/** How long a session that could not be paused is left alone. */
const quietMs = 60_000;

/** How long the word to pause may still be on its way after the dispatcher has taken it back. */
const staleMs = 3000;

/** How long the store may fail before the session goes on without. */
const deadlinesMs = { pause: 5 * 60_000, interval: 60_000 } as const;

export interface CheckpointDeskDeps extends TakeCheckpointDeps {
  readonly wish: PauseWish;
  readonly resumed: JsonValue | null;
  /** The session's own signal: nothing counts after it. */
  readonly signal: AbortSignal;
}

export function createCheckpointDesk(deps: CheckpointDeskDeps): CheckpointDesk {
  const { journal, order, clock } = deps;
  let lastAt = clock.monotonicMs();

  async function take(cause: 'pause' | 'interval', saved: JsonValue) {
    const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(deadlinesMs[cause])]);
    try {
      return await takeCheckpoint(deps, cause, saved, signal);
    } catch (error) {
      deps.signal.throwIfAborted();
      if (isCodedError(error, 'attempt_stale')) throw error;
      deps.log.warn({ ...deps.held, cause, err: error }, 'a checkpoint could not be taken');
      const why = isCodedError(error)
        ? error.message
        : 'the agent server met a fault or did not finish in time';
      const what =
        cause === 'pause' ? 'The session could not be paused and goes on' : 'No checkpoint was taken';
      journal.emit({ type: 'notice', text: cut(`${what}: ${why}`, 4096) });
      return null;
    } finally {
      lastAt = clock.monotonicMs();
    }
  }

  const due = (): boolean =>
    order.checkpointEveryMs !== undefined && clock.monotonicMs() - lastAt >= order.checkpointEveryMs;

  return {
    resumed: deps.resumed,
    wish: deps.wish,
    pause: async (saved) => {
      journal.emit({ type: 'phase', phase: 'pausing' });
      const taken = await take('pause', saved);
      if (taken?.outcome === 'paused') return 'paused';
      deps.wish.takeBack(taken === null ? quietMs : staleMs);
      journal.emit({ type: 'phase', phase: 'working' });
      return 'stay';
    },
    due,
    passed: () => {
      lastAt = clock.monotonicMs();
    },
    between: async (saved) => {
      if (!due()) return;
      await take('interval', saved());
    },
  };
}
