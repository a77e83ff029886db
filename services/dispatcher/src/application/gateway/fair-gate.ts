import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ProviderLimits } from '../ports/model-provider.ts';

/** Lets exchanges through to one provider within its limits. */
export interface FairGate {
  /**
   * Waits for room. Whoever waits is served in turn by `party`, so that one session with many requests does not keep
   * the others waiting.
   * @param tokens what the exchange is expected to use
   * @returns to be called when the exchange is over
   * @throws CodedError `unavailable` when there was no room within the time; the signal's reason when it is aborted
   */
  enter(party: string, tokens: number, signal: AbortSignal): Promise<() => void>;
  /** Exchanges that wait. */
  waiting(): number;
}

interface Ticket {
  readonly tokens: number;
  admit(): void;
}

/** Longest wait for room, in milliseconds; a client retries later on its own. */
const longestWaitMs = 60_000;
/** A bucket of tokens is looked at so often while somebody waits for it. */
const refillMs = 250;

/** A gate for one dispatcher process: two behind a balancer each have the limits, so an operator divides them. */
export function createFairGate(
  name: string,
  limits: ProviderLimits,
  clock: Clock,
  waitMs: number = longestWaitMs,
): FairGate {
  const { concurrency = Number.POSITIVE_INFINITY, tokensPerMinute } = limits;
  // Parties in the order of their turns, each with its tickets in the order of their coming.
  const parties = new Map<string, Ticket[]>();
  const bucket = createBucket(tokensPerMinute, clock);
  let inside = 0;
  let timer: NodeJS.Timeout | null = null;

  const admitNext = (): void => {
    for (let next = firstOf(parties); next !== null; next = firstOf(parties)) {
      if (inside >= concurrency) return;
      if (!bucket.take(next.ticket.tokens)) return wakeLater();
      inside += 1;
      takeTurn(parties, next.party);
      next.ticket.admit();
    }
  };
  const wakeLater = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      admitNext();
    }, refillMs);
  };
  const leave = (): void => {
    inside -= 1;
    admitNext();
  };

  return {
    waiting: () => [...parties.values()].reduce((sum, tickets) => sum + tickets.length, 0),
    enter: async (party, tokens, signal) => {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const ticket: Ticket = { tokens, admit: resolve };
      parties.set(party, [...(parties.get(party) ?? []), ticket]);
      const giveUp = (error: unknown): void => {
        removeTicket(parties, party, ticket);
        reject(error);
      };
      const late = setTimeout(
        () => giveUp(new CodedError('unavailable', `Provider ${name} has no room for another exchange.`)),
        waitMs,
      );
      const gone = (): void => giveUp(signal.reason);
      signal.addEventListener('abort', gone);
      admitNext();
      await promise.finally(() => {
        clearTimeout(late);
        signal.removeEventListener('abort', gone);
      });
      let left = false;
      return () => {
        if (!left) leave();
        left = true;
      };
    },
  };
}

function firstOf(parties: ReadonlyMap<string, readonly Ticket[]>): { party: string; ticket: Ticket } | null {
  for (const [party, [ticket]] of parties) if (ticket !== undefined) return { party, ticket };
  return null;
}

/** The party's first ticket is served; the party goes to the end of the line if it has more. */
function takeTurn(parties: Map<string, Ticket[]>, party: string): void {
  const rest = parties.get(party)?.slice(1) ?? [];
  parties.delete(party);
  if (rest.length > 0) parties.set(party, rest);
}

function removeTicket(parties: Map<string, Ticket[]>, party: string, ticket: Ticket): void {
  const rest = (parties.get(party) ?? []).filter((one) => one !== ticket);
  if (rest.length > 0) parties.set(party, rest);
  else parties.delete(party);
}

/** A bucket that holds a minute's tokens and fills steadily. A request larger than the bucket takes it whole. */
function createBucket(perMinute: number | undefined, clock: Clock): { take(tokens: number): boolean } {
  if (perMinute === undefined) return { take: () => true };
  let level = perMinute;
  let at = clock.monotonicMs();
  return {
    take: (tokens) => {
      const now = clock.monotonicMs();
      level = Math.min(perMinute, level + ((now - at) / 60_000) * perMinute);
      at = now;
      const needed = Math.min(tokens, perMinute);
      if (level < needed) return false;
      level -= needed;
      return true;
    },
  };
}
