import type { Surface } from '../protocol/session-order.ts';
import type { ToolCallState } from '../tool-call/state.ts';

/** What differs by where the person sits. */
export interface SurfaceRules {
  /** What a tool call becomes that the policy forbids. */
  readonly forbiddenCall: Extract<ToolCallState, 'canceled' | 'errored'>;
  /** Whether arguments are also parsed while they arrive, for display; the whole parse decides everywhere. */
  readonly parsesFragments: boolean;
  /** Whether a compaction of the history uses up one action. */
  readonly compactionCostsAction: boolean;
  /** Whether each message of the person restarts the session's budget. */
  readonly messageRestartsBudget: boolean;
  /** Whether a message of the person grants the extension that is asked for. */
  readonly messageExtends: boolean;
  /** Whether a client that was restarted and shows the session again begins with fresh counters. */
  readonly clientRestartRestartsBudget: boolean;
  /** Whether a session that has used up its budget says in a last exchange, without tools, how far it came. */
  readonly summarisesAtBudgetEnd: boolean;
}

const elsewhere: SurfaceRules = {
  forbiddenCall: 'errored',
  parsesFragments: false,
  compactionCostsAction: false,
  messageRestartsBudget: false,
  messageExtends: false,
  clientRestartRestartsBudget: false,
  summarisesAtBudgetEnd: false,
};

/** The table of surfaces: the one place that knows that the terminal differs. */
export const surfaceRules = {
  terminal: {
    forbiddenCall: 'canceled',
    parsesFragments: true,
    compactionCostsAction: true,
    messageRestartsBudget: true,
    messageExtends: false,
    clientRestartRestartsBudget: false,
    summarisesAtBudgetEnd: true,
  },
  ide: { ...elsewhere, messageExtends: true, clientRestartRestartsBudget: true },
  api: elsewhere,
  trigger: elsewhere,
} as const satisfies Readonly<Record<Surface, SurfaceRules>>;
