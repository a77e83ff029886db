import { toProblem } from '@lemniscate/shared/errors/problem.ts';
import { maxLineWaitMs } from '@lemniscate/shared/protocol/server-line.ts';
import type { LineAnswer, LineRequest } from '@lemniscate/shared/protocol/server-line.ts';
import { createBackoff, sleep } from '../application/backoff.ts';
import type { Dispatcher } from '../application/ports/dispatcher.ts';
import type { Log } from '../application/ports/log.ts';
import type { SessionDesk } from '../application/sessions/session-desk.ts';

/** Fetches what the dispatcher asks, for a server that nobody can call. */
export interface OrderFetcher {
  start(): void;
  /** Takes nothing more; settles when the last request is answered. */
  stop(): Promise<void>;
}

/** A dispatcher that is away is asked again this soon, and at the latest so late. Milliseconds. */
const firstPauseMs = 200;
const longestPauseMs = 5_000;

/** One request waits at the dispatcher at any time; it outlives restarts of both and of the network between them. */
export function createOrderFetcher(deps: {
  readonly dispatcher: Pick<Dispatcher, 'nextRequests' | 'answerRequest'>;
  readonly desk: Pick<SessionDesk, 'take' | 'remove' | 'command'>;
  readonly log: Log;
}): OrderFetcher {
  const { dispatcher, desk, log } = deps;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    const backoff = createBackoff(firstPauseMs, longestPauseMs);
    let reachable = true;
    while (!stopping.signal.aborted) {
      try {
        const requests = await dispatcher.nextRequests(maxLineWaitMs, stopping.signal);
        if (!reachable) log.info({}, 'orders can be fetched again');
        reachable = true;
        backoff.reset();
        for (const request of requests)
          await dispatcher.answerRequest(carryOut(desk, request), stopping.signal);
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (reachable) log.warn({ err: error }, 'orders cannot be fetched');
        reachable = false;
        await sleep(backoff.next(), stopping.signal).catch(() => undefined);
      }
    }
  }

  return {
    start: () => {
      running = run();
    },
    stop: async () => {
      stopping.abort(new Error('The server is stopping.'));
      await running;
    },
  };
}

/** The same acts, and the same refusals, as those of the addresses of a server that can be called. */
function carryOut(desk: Pick<SessionDesk, 'take' | 'remove' | 'command'>, request: LineRequest): LineAnswer {
  try {
    if (request.kind === 'take') desk.take(request.order);
    else if (request.kind === 'remove')
      desk.remove({ sessionId: request.sessionId, attempt: request.attempt });
    else desk.command(request.command);
    return { id: request.id, status: 202 };
  } catch (error) {
    const problem = toProblem(error);
    return { id: request.id, status: problem.status, problem: { ...problem } };
  }
}
