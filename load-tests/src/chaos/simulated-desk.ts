import type { SessionDesk } from '@lemniscate/agent-server/application/sessions/session-desk.ts';
import { staleAttempt } from '@lemniscate/agent-server/application/lease.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerCommand } from '@lemniscate/shared/protocol/session-order.ts';
import { readWork } from './work.ts';
import { runSimulated } from './simulated-session.ts';
import type { SimulatedDeps, SimulatedSession } from './simulated-session.ts';

/** The desk of a simulated server: it keeps the rules of the real one on attempts, slots and stale answers. */
export function createSimulatedDesk(
  deps: SimulatedDeps,
  capacity: number,
  onChange: () => void,
): SessionDesk {
  const sessions = new Map<string, SimulatedSession>();
  const last = new Map<string, number>();
  const find = ({ sessionId, attempt }: Held): SimulatedSession | undefined => {
    const session = sessions.get(sessionId);
    return session?.attempt === attempt ? session : undefined;
  };
  const obey = (command: ServerCommand): void => {
    if (command.kind === 'stop') find(command)?.abandon();
    if (command.kind === 'pause') find(command)?.pause();
  };
  const heard = (sentAtMs: number): void => {
    for (const session of sessions.values()) session.heard(sentAtMs);
  };
  return {
    take: (order) => {
      if (find(order) !== undefined) return;
      if (order.attempt <= (last.get(order.sessionId) ?? 0))
        throw staleAttempt(order.sessionId, order.attempt);
      if (readWork(order.instruction)?.isRefused === true)
        throw new CodedError('sandbox_start_failed', 'This work is refused by every server of the storm.');
      const former = sessions.get(order.sessionId);
      if (former === undefined && sessions.size >= capacity)
        throw new CodedError('server_full', `All ${capacity} slots of this server are taken.`);
      former?.abandon();
      last.set(order.sessionId, order.attempt);
      const session = runSimulated(deps, order);
      sessions.set(order.sessionId, session);
      void session.done.then(() => {
        if (sessions.get(order.sessionId) === session) sessions.delete(order.sessionId);
        onChange();
      });
    },
    remove: (held) => {
      const current = sessions.get(held.sessionId);
      if (current !== undefined && held.attempt < current.attempt)
        throw staleAttempt(held.sessionId, held.attempt);
      last.set(held.sessionId, Math.max(held.attempt, last.get(held.sessionId) ?? 0));
      current?.abandon();
    },
    command: (command) => {
      obey(command);
    },
    apply: (answer, sentAtMs) => {
      heard(sentAtMs);
      for (const lease of answer.leases) find(lease)?.renew(sentAtMs, lease.leaseMs);
      for (const stale of answer.stale) find(stale)?.abandon();
      answer.commands.forEach(obey);
      for (const pause of answer.pauses) find(pause)?.pause();
    },
    heard,
    giveUpLost: () => {
      for (const session of sessions.values()) if (session.isLost()) session.abandon();
    },
    shortestLeaseMs: () => {
      const leases = [...sessions.values()].map(({ leaseMs }) => leaseMs);
      return leases.length === 0 ? null : Math.min(...leases);
    },
    held: () => [...sessions.values()].map(({ sessionId, attempt }) => ({ sessionId, attempt })),
    draining: () => false,
    backlog: () => ({ events: 0, bytes: 0 }),
    leasesLost: () => 0,
    drain: async () => {
      for (const session of sessions.values()) session.abandon();
      await Promise.all([...sessions.values()].map(({ done }) => done));
    },
  };
}
