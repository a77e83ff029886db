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
}

const elsewhere: SurfaceRules = {
  forbiddenCall: 'errored',
  parsesFragments: false,
  compactionCostsAction: false,
  messageRestartsBudget: false,
};

/** The table of surfaces: the one place that knows that the terminal differs. */
export const surfaceRules = {
  terminal: {
    forbiddenCall: 'canceled',
    parsesFragments: true,
    compactionCostsAction: true,
    messageRestartsBudget: true,
  },
  ide: elsewhere,
  api: elsewhere,
  trigger: elsewhere,
} as const satisfies Readonly<Record<Surface, SurfaceRules>>;
