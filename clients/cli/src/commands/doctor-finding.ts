/** What one look found. `advice` says what to do about it. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly found: string;
  readonly advice?: string;
}

/** What the looks share. */
export interface DoctorDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly platform: NodeJS.Platform;
  /** Runs a program and answers its output; rejects where it is not there or fails. */
  readonly output: (program: string, args: readonly string[]) => Promise<string>;
}

export type Check = (deps: DoctorDeps) => Promise<Finding[]>;

/** The first line of what went wrong. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error);
}
