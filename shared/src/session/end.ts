import type { SessionState } from './state.ts';

/** What becomes of a session's work at its end. */
export interface SessionEnd {
  readonly state: SessionState;
  /** Exit code of the terminal client. */
  readonly exitCode: number;
  /** `yes`: offered; `checkpoint`: the last checkpoint's; `readable`: if it can still be read; `no`: discarded. */
  readonly diff: 'yes' | 'checkpoint' | 'readable' | 'no' | 'kept_on_server';
  readonly pushMemory: boolean;
}

const failed = (diff: SessionEnd['diff'], exitCode = 1, pushMemory = false): SessionEnd => ({
  state: 'failed',
  exitCode,
  diff,
  pushMemory,
});

/** The table of ends: each reason that can end a session, and what follows from it. */
export const sessionEnds = {
  finished: { state: 'completed', exitCode: 0, diff: 'yes', pushMemory: true },
  time_budget: { state: 'timeout', exitCode: 3, diff: 'yes', pushMemory: true },
  budget_actions: failed('yes', 3, true),
  budget_tokens: failed('yes', 3, true),
  budget_cost: failed('yes', 3, true),
  budget_commands: failed('yes', 3, true),
  sandbox_memory: failed('readable'),
  sandbox_processes: failed('readable'),
  sandbox_disk: failed('readable'),
  sandbox_cpu: failed('readable'),
  tool_rejected: failed('yes'),
  approval_expired: failed('yes'),
  queue_deadline: failed('no'),
  no_capacity: failed('no'),
  start_failed: failed('no'),
  environment_failed: failed('no'),
  repository_failed: failed('no'),
  model_failed: failed('yes'),
  runtime_failed: failed('yes'),
  server_lost: failed('checkpoint'),
  result_unsaved: failed('kept_on_server'),
  stopped: { state: 'user_stopped', exitCode: 130, diff: 'no', pushMemory: false },
  revoked: { state: 'user_stopped', exitCode: 4, diff: 'no', pushMemory: false },
} as const satisfies Readonly<Record<string, SessionEnd>>;

/** Why a session ended. */
export type EndReason = keyof typeof sessionEnds;
export const endReasons = Object.keys(sessionEnds) as [EndReason, ...EndReason[]];

/**
 * What becomes of a diff. `reported`: a sub-agent's goes to its parent as a text to read and is offered to nobody, from
 * its first moment on; the parent's diff is the one way out.
 */
export type DiffFate = 'offered' | 'reported' | 'discarded';

/** The fate of what a session changed, by why it ended and whether it worked for another session. */
export function diffFate(reason: EndReason, isSubAgent: boolean): DiffFate {
  if (sessionEnds[reason].diff === 'no') return 'discarded';
  return isSubAgent ? 'reported' : 'offered';
}

/** Why a session is paused. */
export const pauseReasons = [
  'awaiting_message',
  'awaiting_approval',
  'awaiting_extension',
  'awaiting_sub_agent',
  'by_person',
  // its server is being emptied; it goes on by itself on another
  'drained',
] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** Ends by a budget after which a session may say in a last exchange how far it came; room for it stays reserved. */
export const summarisedEnds: readonly EndReason[] = [
  'time_budget',
  'budget_actions',
  'budget_commands',
  'budget_tokens',
  'budget_cost',
];
