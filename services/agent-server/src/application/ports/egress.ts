import type { Duplex } from 'node:stream';
import type { egressRefusals } from '@lemniscate/shared/protocol/session-event.ts';

/** Why a connection was not made. */
export type EgressRefusal = (typeof egressRefusals)[number];

/** One attempt to reach the outside, or the end of a connection that was made. `host` is what the sandbox wrote; empty where that was no host. */
export type EgressReport =
  | { readonly host: string; readonly port: number; readonly outcome: 'connected'; readonly address: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly outcome: 'closed';
      readonly sentBytes: number;
      readonly receivedBytes: number;
      readonly durationMs: number;
    }
  | {
      readonly host: string;
      readonly port: number;
      readonly outcome: 'refused';
      readonly why: EgressRefusal;
    };

/** Serves the connections of one session; each is hostile. Returns what takes one. */
export type ServeEgress = (session: {
  readonly rules: readonly string[];
  report(what: EgressReport): void;
  /** Aborted with the session: every connection ends. */
  readonly signal: AbortSignal;
}) => (connection: Duplex) => void;
