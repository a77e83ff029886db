/** One turn of a scripted model: what it says and asks, and how its message ends or fails. */
export interface ScriptedTurn {
  readonly blocks: readonly ScriptedBlock[];
  readonly stopReason?: string;
  /** The connection is closed after so many events, before the message is whole. */
  readonly cutAfter?: number;
  /** Answers with this status and body instead of a stream. */
  readonly refuse?: Refusal;
  /** Milliseconds between two events. */
  readonly pauseMs?: number;
  /** Says nothing more after so many events, and keeps the connection. */
  readonly stallAfter?: number;
  /** A stall ends with the connection after so long, as the gateway ends it. Milliseconds; absent: never. */
  readonly stallMs?: number;
  /** Sends this after so many events, which no parser can make sense of. */
  readonly garbageAfter?: number;
  /** Closes the connection without an answer. */
  readonly reset?: boolean;
  /** Tokens that the answer claims; ten and twenty unless told. */
  readonly usage?: ScriptedUsage;
}

export interface Refusal {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ScriptedUsage {
  /** Uncached. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
}

export type ScriptedBlock =
  | { readonly text: string }
  | { readonly id: string; readonly tool: string; readonly input: unknown }
  /** Arguments as raw text, sent in fragments of a few characters. */
  | { readonly id: string; readonly tool: string; readonly rawArguments: string };

/** The same text in pieces, as a model would stream it. */
export function fragments(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, part) =>
    text.slice(part * length, (part + 1) * length),
  );
}

export const usageOf = ({ usage }: ScriptedTurn): Required<ScriptedUsage> => ({
  input: usage?.input ?? 10,
  output: usage?.output ?? 20,
  cacheRead: usage?.cacheRead ?? 0,
});
