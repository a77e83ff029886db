import { EventEmitter } from 'node:events';

/** What a part of this process tells the others after a commit. Each is repeated by somebody's timer. */
export interface SignalPayloads {
  /** Sessions wait in the outbox, for this pool; null: for a pool that nobody has looked up. */
  outbox: string | null;
  /** A server may have room for another session. */
  slotFreed: undefined;
  /** A session runs: its server may start another one. */
  running: { readonly serverId: string; readonly sessionId: string };
  /** A session has ended (its id). */
  ended: string;
  /** Something began or stopped to wait for a person. */
  approvals: undefined;
  /** An administrator took somebody's access away. */
  userRevoked: undefined;
  /** Something has asked for a session, or an inbox has something new. */
  wishes: undefined;
  /** Rows that meant objects are gone. */
  erased: undefined;
  /** A server does not answer, or one that nobody knows by name has spoken. */
  probeServers: undefined;
  /** Redis answers again, perhaps with nothing in it. */
  redisBack: undefined;
}
export type SignalName = keyof SignalPayloads;

/** Hints inside one process: losing one costs at most a timer's interval, so nothing may depend on one. */
export interface Signals {
  send<Name extends SignalName>(name: Name, payload: SignalPayloads[Name]): void;
  /** @returns how to stop listening */
  on<Name extends SignalName>(name: Name, listener: (payload: SignalPayloads[Name]) => void): () => void;
}

/** Signals over an emitter. A listener that throws is a fault of ours and surfaces as such. */
export function createSignals(): Signals {
  const emitter = new EventEmitter();
  // One listener per waiting caller of `wait: true`: the warning at eleven would be noise.
  emitter.setMaxListeners(0);
  return {
    send: (name, payload) => void emitter.emit(name, payload),
    on: (name, listener) => {
      emitter.on(name, listener);
      return () => void emitter.off(name, listener);
    },
  };
}
