import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Log } from '../ports/log.ts';
import type { ProviderLimits } from '../ports/model-provider.ts';
import type { ProviderRoom } from '../ports/provider-room.ts';
import { createOwnRoom } from './own-room.ts';

/** Lets exchanges through to one provider within its limits. */
export interface FairGate {
  /**
   * Waits for room. Whoever waits is served in turn by `party`, so that one session with many requests does not keep
   * the others waiting.
   * @param tokens what the exchange is expected to use
   * @returns to be called when the exchange is over, with what it used; null: nobody knows, the expectation stands
   * @throws CodedError `unavailable` when there was no room within the time; the signal's reason when it is aborted
   */
  enter(party: string, tokens: number, signal: AbortSignal): Promise<(used: number | null) => void>;
  /** Exchanges that wait. */
  waiting(): number;
}

interface Ticket {
  readonly holder: string;
  readonly tokens: number;
  left: boolean;
  admit(): void;
}

/** Longest wait for room, in milliseconds; a client retries later on its own. */
const longestWaitMs = 60_000;
/** A shared room that could not be asked is left alone for so long: one that hangs would hold everybody up each time. */
const awayMs = 5_000;
/** Room that others give, or that time does, is looked for so often while somebody waits. */
const refillMs = 50;

/** What a gate lets through, and what it asks before. */
export interface GateOptions {
  readonly name: string;
  readonly limits: ProviderLimits;
  readonly clock: Clock;
  /** The room that all gateways share; absent: this process has the limits for itself. */
  readonly shared?: ProviderRoom;
  readonly newHolder: () => string;
  readonly log: Pick<Log, 'warn'>;
  readonly waitMs?: number;
}

/**
 * A gate of one process. Those who wait here take turns; among gateways the limits are shared, and so are the turns: each
 * asks for the first of its own line. While the shared room cannot be asked, each gateway keeps the limits by itself.
 */
export function createFairGate(options: GateOptions): FairGate {
  const { name, limits, clock, shared, newHolder, log, waitMs = longestWaitMs } = options;
  // Parties in the order of their turns, each with its tickets in the order of their coming.
  const parties = new Map<string, Ticket[]>();
  const own = createOwnRoom(limits, clock);
  let admitting = false;
  let askAgainAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;

  const takeShared = async (ticket: Ticket): Promise<boolean> => {
    if (shared === undefined || clock.monotonicMs() < askAgainAt) return true;
    try {
      return await shared.take(ticket.holder, ticket.tokens);
    } catch (error) {
      askAgainAt = clock.monotonicMs() + awayMs;
      log.warn({ err: error, provider: name }, 'the limits of a provider are kept by this gateway alone');
      return true;
    }
  };
  const takenBy = ({ tokens }: Ticket): number =>
    Math.min(tokens, limits.tokensPerMinute ?? Number.POSITIVE_INFINITY);
  const give = (ticket: Ticket, used: number | null): void => {
    const over = used === null ? 0 : used - takenBy(ticket);
    own.give(over);
    shared?.give(ticket.holder, over);
    void admitNext();
  };
  const admitNext = async (): Promise<void> => {
    if (admitting) return;
    admitting = true;
    try {
      for (let next = firstOf(parties); next !== null; next = firstOf(parties)) {
        const { ticket } = next;
        if (!own.take(ticket.tokens)) return wakeLater();
        if (!(await takeShared(ticket))) {
          own.giveBack(ticket.tokens);
          return wakeLater();
        }
        if (ticket.left) {
          own.giveBack(ticket.tokens);
          shared?.give(ticket.holder, -takenBy(ticket));
          continue;
        }
        takeTurn(parties, next.party, ticket);
        ticket.admit();
      }
    } finally {
      admitting = false;
    }
  };
  const wakeLater = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      void admitNext();
    }, refillMs);
  };

  return {
    waiting: () => [...parties.values()].reduce((sum, tickets) => sum + tickets.length, 0),
    enter: async (party, tokens, signal) => {
      signal.throwIfAborted();
      if (limits.concurrency === undefined && limits.tokensPerMinute === undefined) return () => undefined;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const ticket: Ticket = { holder: newHolder(), tokens, left: false, admit: resolve };
      parties.set(party, [...(parties.get(party) ?? []), ticket]);
      const giveUp = (error: unknown): void => {
        ticket.left = true;
        // It may have the next turn among all gateways.
        shared?.give(ticket.holder, 0);
        removeTicket(parties, party, ticket);
        reject(error);
      };
      const late = setTimeout(
        () => giveUp(new CodedError('unavailable', `Provider ${name} has no room for another exchange.`)),
        waitMs,
      );
      const gone = (): void => giveUp(signal.reason);
      signal.addEventListener('abort', gone);
      void admitNext();
      await promise.finally(() => {
        clearTimeout(late);
        signal.removeEventListener('abort', gone);
      });
      let left = false;
      return (used) => {
        if (!left) give(ticket, used);
        left = true;
      };
    },
  };
}

function firstOf(parties: ReadonlyMap<string, readonly Ticket[]>): { party: string; ticket: Ticket } | null {
  for (const [party, [ticket]] of parties) if (ticket !== undefined) return { party, ticket };
  return null;
}

/** A ticket is served; its party goes to the end of the line if it has more. */
function takeTurn(parties: Map<string, Ticket[]>, party: string, ticket: Ticket): void {
  const rest = (parties.get(party) ?? []).filter((one) => one !== ticket);
  parties.delete(party);
  if (rest.length > 0) parties.set(party, rest);
}

function removeTicket(parties: Map<string, Ticket[]>, party: string, ticket: Ticket): void {
  const rest = (parties.get(party) ?? []).filter((one) => one !== ticket);
  if (rest.length > 0) parties.set(party, rest);
  else parties.delete(party);
}
