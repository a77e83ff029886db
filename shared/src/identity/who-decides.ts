import type { Surface } from '../protocol/session-order.ts';
import { surfaceRules } from '../session/surface.ts';
import type { Role } from './roles.ts';

/** Who wants to decide: a person at an interactive login is `human`; tokens and MCP callers are `automation`. */
export interface Decider {
  readonly subject: string;
  readonly kind: 'human' | 'automation';
  /** Roles that are held in the session's project or everywhere. */
  readonly roles: readonly Role[];
}

/** What is decided about a session by somebody's word. */
export type SessionDecision = 'approval' | 'extension' | 'fresh_budget' | 'message' | 'pause' | 'diff';

interface DecisionRule {
  /** Only a person in front of it: automation cannot satisfy an `ask`, whatever its roles. */
  readonly inPerson: boolean;
  /** Whoever opened the session may. */
  readonly opener: boolean;
  /** So may others with one of these roles; `any`: the route's own access rule has decided. */
  readonly roles: readonly Role[] | 'any';
}

const approvers: readonly Role[] = ['approver', 'project_admin', 'administrator'];

/** The table of who decides what. */
export const decisionRules: Readonly<Record<SessionDecision, DecisionRule>> = {
  approval: { inPerson: true, opener: true, roles: approvers },
  extension: { inPerson: true, opener: true, roles: approvers },
  fresh_budget: { inPerson: true, opener: true, roles: approvers },
  diff: { inPerson: true, opener: true, roles: 'any' },
  message: { inPerson: false, opener: true, roles: approvers },
  pause: { inPerson: false, opener: true, roles: approvers },
};

/** Why somebody may not decide; null: they may. */
export type DecisionFault = 'not_in_person' | 'not_theirs';

/** Whether somebody may decide this about a session that `openedBy` opened. */
export function decisionFault(
  decider: Decider,
  decision: SessionDecision,
  openedBy: string,
): DecisionFault | null {
  const rule = decisionRules[decision];
  if (rule.inPerson && decider.kind !== 'human') return 'not_in_person';
  const { roles } = rule;
  if (roles === 'any' || (rule.opener && decider.subject === openedBy)) return null;
  return decider.roles.some((role) => roles.includes(role)) ? null : 'not_theirs';
}

/** Whether a decision lets a call run that the policy wants a person asked about. */
export function satisfiesAsk(approval: {
  readonly state: string;
  readonly decided_by: 'human' | 'automation' | null;
}): boolean {
  return approval.state === 'approved' && approval.decided_by === 'human';
}

/**
 * Whether a message starts the session's counters anew. Anybody who may speak to a session may send one; fresh counters
 * are another decision, and automation that speaks to a session of the terminal must not run on without a bound.
 */
export function messageRestartsBudget(surface: Surface, kind: Decider['kind']): boolean {
  if (decisionRules.fresh_budget.inPerson && kind !== 'human') return false;
  return surfaceRules[surface].messageRestartsBudget;
}
