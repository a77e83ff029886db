import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';

/** What became of an order. `failed` may have been taken all the same: its attempt must be fenced off. */
export type PlacementAnswer =
  | { readonly kind: 'taken' }
  | { readonly kind: 'full' }
  | {
      readonly kind: 'failed';
      readonly how: string;
      readonly reachable: boolean;
      /** The caller was late itself: it says nothing of the server. Absent: no. */
      readonly isOurs?: boolean;
    };

/** Calls to agent servers by name, over mutual TLS and with deadlines. */
export interface AgentServers {
  /** `PUT /sessions/:id`; never throws for what the server does. */
  place(serverId: string, order: SessionOrder): Promise<PlacementAnswer>;
  /** `DELETE /sessions/:id?attempt=N`, in the background and without waiting: heartbeats repeat what it says. */
  destroy(serverId: string, held: Held): void;
  /** Tells a server to put a session away, in the background and without waiting: heartbeats repeat it. */
  pause(serverId: string, held: Held, reason: string): void;
  /** Tells a server to cut short what an agent does. Resolves when it has heard. @throws CodedError `service_unreachable` */
  interrupt(serverId: string, held: Held): Promise<void>;
}

/** A server as its address answers. */
export interface ProbedServer {
  /** From the certificate's URI. */
  readonly serverId: string;
  readonly status: ServerStatus;
  /** How long it took, from the call to the last byte, without what the caller was late itself where that was much. */
  readonly answerMs: number;
}

/**
 * `GET /status`.
 * @throws CodedError `service_unreachable`, with `isOurs` in its details where the caller itself was late;
 *   `certificate_refused`
 */
export type ProbeServer = (url: string) => Promise<ProbedServer>;
