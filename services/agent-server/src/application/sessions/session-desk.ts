import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { HeartbeatAnswer } from '@lemniscate/shared/protocol/server-status.ts';
import type { ServerCommand, SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { JournalBacklog } from '../journal-queue.ts';
import { staleAttempt } from '../lease.ts';
import { holdSession } from './held-session.ts';
import type { HeldSession } from './held-session.ts';
import type { SessionDeps } from './session-context.ts';

/** The sessions of this server and its slots. */
export interface SessionDesk {
  /**
   * Takes an order; repeating it changes nothing.
   * @throws CodedError `attempt_stale`, `server_full`, `unavailable` while draining, `request_invalid` for a profile or
   * runtime that this server does not have
   */
  take(order: SessionOrder): void;
  /** Destroys a session without a result; idempotent. @throws CodedError `attempt_stale` when a later attempt is held */
  remove(held: Held): void;
  /** @throws CodedError `session_unknown`, `attempt_stale` */
  command(command: ServerCommand): void;
  /** What a heartbeat's answer says, counted from when the heartbeat was sent. */
  apply(answer: HeartbeatAnswer, sentAtMs: number): void;
  /** The dispatcher has answered a heartbeat of then with an error: it is there, and can renew nothing. */
  heard(sentAtMs: number): void;
  /** Gives up the sessions that are cut off or whose lease ended long ago; to be called several times a second. */
  giveUpLost(): void;
  /** The shortest lease of a session that is held, in milliseconds; null when none is. */
  shortestLeaseMs(): number | null;
  held(): Held[];
  draining(): boolean;
  /** Of all its sessions. */
  backlog(): JournalBacklog;
  /** Sessions given up since the start because their lease had ended. */
  leasesLost(): number;
  /** Takes no more, gives every session up and resolves when they are gone. */
  drain(): Promise<void>;
}

/** Attempts that have ended here are remembered, so that a late repeat of their order does not run them again. */
const rememberedAttempts = 10_000;

export function createSessionDesk(
  deps: SessionDeps,
  options: { readonly capacity: number; onChange(): void },
): SessionDesk {
  const sessions = new Map<string, HeldSession>();
  const running = new Set<HeldSession>();
  const lastAttempts = new Map<string, number>();
  let draining = false;
  let leasesLost = 0;

  const slotsTaken = () => [...running].filter((session) => session.holdsSlot()).length;

  function remember({ sessionId, attempt }: Held): void {
    const known = lastAttempts.get(sessionId) ?? 0;
    lastAttempts.delete(sessionId);
    lastAttempts.set(sessionId, Math.max(known, attempt));
    const oldest = lastAttempts.keys().next();
    if (lastAttempts.size > rememberedAttempts && !oldest.done) lastAttempts.delete(oldest.value);
  }

  function begin(order: SessionOrder, former: HeldSession | undefined): void {
    former?.abandon('replaced');
    const session = holdSession(deps, order, former?.done ?? Promise.resolve(), {
      onSlotFree: options.onChange,
      onCommands: (commands) => commands.forEach(obey),
    });
    sessions.set(order.sessionId, session);
    running.add(session);
    remember(session);
    void session.done.then(() => {
      running.delete(session);
      if (session.leaseLost()) leasesLost += 1;
      if (sessions.get(session.sessionId) === session) sessions.delete(session.sessionId);
      options.onChange();
    });
  }

  function heard(sentAtMs: number): void {
    for (const session of sessions.values()) session.heard(sentAtMs);
  }

  /** Commands in answers to our own messages: one for a session that has just ended is no error. */
  function obey(command: ServerCommand): void {
    const session = sessions.get(command.sessionId);
    if (session?.attempt === command.attempt) carryOut(session, command);
  }

  return {
    take: (order) => {
      const current = sessions.get(order.sessionId);
      if (current?.attempt === order.attempt) return;
      const last = lastAttempts.get(order.sessionId) ?? 0;
      if (order.attempt <= last) throw staleAttempt(order.sessionId, order.attempt);
      if (draining)
        throw new CodedError('unavailable', 'This server is shutting down and takes no sessions.');
      checkOrder(deps, order);
      const freed = current?.holdsSlot() === true ? 1 : 0;
      if (slotsTaken() - freed >= options.capacity) throw serverFull(options.capacity);
      begin(order, current);
    },
    remove: (held) => {
      const current = sessions.get(held.sessionId);
      if (current !== undefined && held.attempt < current.attempt) {
        throw staleAttempt(held.sessionId, held.attempt);
      }
      remember(held);
      current?.abandon('deleted');
    },
    command: (command) => {
      const current = sessions.get(command.sessionId);
      if (current === undefined) {
        throw new CodedError('session_unknown', `This server does not hold session ${command.sessionId}.`);
      }
      if (current.attempt !== command.attempt) throw staleAttempt(command.sessionId, command.attempt);
      carryOut(current, command);
    },
    apply: (answer, sentAtMs) => {
      heard(sentAtMs);
      const find = (held: Held) => {
        const session = sessions.get(held.sessionId);
        return session?.attempt === held.attempt ? session : undefined;
      };
      for (const lease of answer.leases) find(lease)?.renew(sentAtMs, lease.leaseMs);
      for (const stale of answer.stale) find(stale)?.abandon('stale');
      answer.commands.forEach(obey);
      for (const pause of answer.pauses) find(pause)?.pause(pause.reason);
    },
    heard,
    giveUpLost: () => {
      // Also those that a later attempt has replaced: what is left of them has no lease either.
      for (const session of running) session.checkLease();
    },
    shortestLeaseMs: () => {
      const leases = [...sessions.values()].map(({ leaseMs }) => leaseMs);
      return leases.length === 0 ? null : Math.min(...leases);
    },
    held: () => [...sessions.values()].map(({ sessionId, attempt }) => ({ sessionId, attempt })),
    draining: () => draining,
    backlog: () => {
      const all = [...running].map((session) => session.backlog());
      return {
        events: all.reduce((sum, { events }) => sum + events, 0),
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      };
    },
    leasesLost: () => leasesLost,
    drain: async () => {
      draining = true;
      for (const session of running) session.abandon('shutdown');
      await Promise.all([...running].map((session) => session.done));
    },
  };
}

function carryOut(session: HeldSession, { kind, reason }: ServerCommand): void {
  switch (kind) {
    case 'stop':
      return session.stop(reason);
    case 'pause':
      return session.pause(reason);
    case 'interrupt':
      return session.interrupt();
    default:
      return kind satisfies never;
  }
}

function checkOrder(deps: SessionDeps, order: SessionOrder): void {
  if (!deps.pool.has(order.profile)) {
    const known = deps.pool.status().profiles.join(', ');
    throw new CodedError(
      'request_invalid',
      `This server has no sandbox profile ${JSON.stringify(order.profile)}; it has ${known}.`,
    );
  }
  if (!Object.hasOwn(deps.runtimes, order.runtime)) {
    throw new CodedError('runtime_unknown', `This server has no runtime ${JSON.stringify(order.runtime)}.`);
  }
}

function serverFull(capacity: number): CodedError {
  return new CodedError('server_full', `All ${capacity} slots of this server are taken.`, { capacity });
}
