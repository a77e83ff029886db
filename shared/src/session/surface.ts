import type { Priority } from '../queue/priority.ts';
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
  /** Whether a workstation can stand behind it; sessions of the others always run on the pool. */
  readonly hasWorkstation: boolean;
  /** What a session queues with that does not say. */
  readonly usualPriority: Priority;
}

const elsewhere: SurfaceRules = {
  forbiddenCall: 'errored',
  parsesFragments: false,
  compactionCostsAction: false,
  messageRestartsBudget: false,
  messageExtends: false,
  clientRestartRestartsBudget: false,
  summarisesAtBudgetEnd: false,
  hasWorkstation: false,
  usualPriority: 'normal',
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
    hasWorkstation: true,
    usualPriority: 'normal',
  },
  ide: { ...elsewhere, messageExtends: true, clientRestartRestartsBudget: true, hasWorkstation: true },
  api: elsewhere,
  // nobody waits in front of it
  trigger: { ...elsewhere, usualPriority: 'low' },
} as const satisfies Readonly<Record<Surface, SurfaceRules>>;
