import { within } from './within.ts';
import type { TestDispatcher } from './test-fleet.ts';

/** A balancer's view of dispatchers that restart in turn: one of them has to answer, always. */
export interface Balancer {
  /** Waits until a round has asked everybody who is there now: a question of before went only to who stops next. */
  hasSeenAll(): Promise<void>;
  /** Ends the watch. @returns how many rounds were asked, and of how many nobody answered */
  end(): Promise<{ readonly asked: number; readonly unanswered: number }>;
}

/** @param dispatchers null while one is on its way out or in; read anew in each round */
export function watchAsBalancer(dispatchers: readonly (TestDispatcher | null)[], path: string): Balancer {
  let asked = 0;
  let unanswered = 0;
  const ending = new AbortController();
  const answers = async (one: TestDispatcher | null): Promise<boolean> => {
    try {
      return one !== null && (await one.call('GET', path)).status === 200;
    } catch {
      // It is on its way out or in; another one has to answer.
      return false;
    }
  };
  const watch = (async () => {
    while (!ending.signal.aborted) {
      const said = await Promise.all(dispatchers.map(answers));
      asked += 1;
      if (!said.includes(true)) unanswered += 1;
    }
  })();
  return {
    hasSeenAll: async () => {
      const seen = asked;
      await within(30_000, 'a round of questions has begun and ended', () => asked >= seen + 2);
    },
    end: async () => {
      ending.abort();
      await watch;
      return { asked, unanswered };
    },
  };
}
