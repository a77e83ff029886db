import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { LineAnswer, LineMessage } from '@lemniscate/shared/protocol/server-line.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AgentServers } from '../application/ports/agent-servers.ts';
import type { Log } from '../application/ports/log.ts';
import type { ServerLines } from '../application/ports/server-lines.ts';
import { fetchesItsOrders } from '../application/servers/configured-server.ts';
import { isOwnFault } from './own-lag.ts';
import type { OwnLag } from './own-lag.ts';
import { placementOf } from './placement-answer.ts';

export interface ReachServersOptions {
  /** Where a server is reached; null: nobody knows it. */
  readonly addressOf: (serverId: string) => Promise<string | null>;
  readonly lines: ServerLines;
  readonly timeoutMs: number;
  readonly ownLag: OwnLag;
  readonly log: Log;
}

/** Calls the servers that can be called, and leaves word for those that fetch it. */
export function reachServers(called: AgentServers, options: ReachServersOptions): AgentServers {
  const { addressOf, lines, timeoutMs, ownLag, log } = options;
  const fetches = async (serverId: string): Promise<boolean> => {
    const address = await addressOf(serverId);
    return address !== null && fetchesItsOrders(address);
  };
  const ask = (serverId: string, message: LineMessage): Promise<LineAnswer> =>
    lines.ask(serverId, message, timeoutMs);
  /** In the background: the answers to heartbeats repeat what it says. */
  const tell = (serverId: string, held: Held, message: LineMessage, call: () => void): void => {
    const told = async (): Promise<void> => {
      if (await fetches(serverId)) await ask(serverId, message);
      else call();
    };
    told().catch((error: unknown) =>
      log.debug({ err: error, server: serverId, ...held }, 'a server could not be told'),
    );
  };
  return {
    place: async (serverId, order) => {
      if (!(await fetches(serverId))) return called.place(serverId, order);
      const before = ownLag.lateMs();
      const answer = await ask(serverId, { kind: 'take', order }).catch((error: unknown) => error);
      if (isAnswer(answer)) return placementOf(answer.status, answer.problem);
      const how = answer instanceof Error ? answer.message : String(answer);
      // Who fetched it and never answered may have taken it.
      if (isOwnFault(ownLag.lateMs() - before, timeoutMs))
        return { kind: 'failed', how, reachable: true, isOurs: true };
      return { kind: 'failed', how, reachable: isCodedError(answer, 'service_unreachable') };
    },
    destroy: (serverId, held) =>
      tell(serverId, held, { kind: 'remove', ...held }, () => called.destroy(serverId, held)),
    pause: (serverId, held, reason) =>
      tell(serverId, held, { kind: 'command', command: { ...held, kind: 'pause', reason } }, () =>
        called.pause(serverId, held, reason),
      ),
    interrupt: async (serverId, held) => {
      if (!(await fetches(serverId))) return called.interrupt(serverId, held);
      const answer = await ask(serverId, {
        kind: 'command',
        command: { ...held, kind: 'interrupt', reason: '' },
      });
      if (answer.status >= 300) throw fromProblem(answer.problem, answer.status);
    },
  };
}

const isAnswer = (answer: unknown): answer is LineAnswer =>
  typeof answer === 'object' && answer !== null && 'status' in answer && !(answer instanceof Error);
