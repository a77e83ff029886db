import type { SessionView, ToolCallView } from '@lemniscate/shared/api/session.ts';

/** What `--json` prints of a session that is over. Amounts are decimal strings, timings milliseconds. */
export interface SessionSummary {
  readonly sessionId: string;
  readonly state: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly repository: string;
  readonly diff: { readonly files: number; readonly insertions: number; readonly deletions: number };
  readonly usage: SessionView['usage'];
  readonly totalCostUsd: string;
  /** What a vendor's program says that it used, where it drove the loop. */
  readonly reportedUsage?: NonNullable<SessionView['reportedUsage']>;
  readonly toolCalls: readonly {
    readonly tool: string;
    readonly state: string;
    readonly decidedBy: string | null;
    /** The call is a vendor program's own word; present only then. */
    readonly reported?: true;
  }[];
  readonly audit: { readonly entries: number; readonly verified: boolean };
  readonly timingsMs: Readonly<Record<string, number>>;
  readonly sandbox: { readonly driver: string | null };
}

/** Puts together what a program wants to know; `timingsMs` adds or overrides the session's own. */
export function summarise(
  session: SessionView,
  toolCalls: readonly ToolCallView[],
  audit: SessionSummary['audit'],
  repository: string,
  timingsMs: Readonly<Record<string, number>> = {},
): SessionSummary {
  return {
    sessionId: session.id,
    state: session.state,
    reason: session.reason,
    message: session.message,
    repository,
    diff: {
      files: session.diff?.files.length ?? 0,
      insertions: session.diff?.insertions ?? 0,
      deletions: session.diff?.deletions ?? 0,
    },
    usage: session.usage,
    totalCostUsd: session.totalCostUsd,
    ...(session.reportedUsage === null ? {} : { reportedUsage: session.reportedUsage }),
    toolCalls: toolCalls.map(({ tool, state, decidedBy, reported }) => ({
      tool,
      state,
      decidedBy,
      ...(reported ? { reported: true as const } : {}),
    })),
    audit,
    timingsMs: { ...session.timingsMs, ...timingsMs },
    sandbox: session.sandbox,
  };
}
