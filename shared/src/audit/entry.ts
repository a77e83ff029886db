import type { JsonValue } from '../json.ts';

/**
 * The catalogue of entry types. No entry holds the instruction, code or output: they hold digests, counts, names,
 * codes and durations.
 */
export const auditEntryTypes = [
  'session.opened', // who, project, policy digest, instruction commitment, repository kind, runtime, model, surface
  'session.queued',
  'attempt.started', // attempt, server
  'session.running', // driver, warm
  'attempt.lost', // attempt, server, why
  'tool.proposed', // call, tool, arguments digest, path where the tool names one
  'tool.decided', // call, verdict, decided by, reasons, subject
  'tool.executed', // call, state, exit code, duration, output bytes
  'model.exchanged', // provider, model, four counts, cost, complete
  'approval.requested',
  'approval.decided', // subject, decision, how
  'session.stopped', // by whom
  'session.ended', // state, reason
  'diff.offered', // digest, counts, files
  'diff.decided', // decision, subject, digest, the session's closing digest
  'server.joined',
  'login.refused',
  'chain.opened',
  'chain.closed',
] as const;
export type AuditEntryType = (typeof auditEntryTypes)[number];

/** An entry before it has its place in a chain. */
export interface AuditDraft {
  readonly type: AuditEntryType;
  /** Who acted: the directory identity of a person, or a service's URI. */
  readonly subject: string;
  readonly attempt?: number;
  readonly server?: string;
  readonly body: Readonly<Record<string, JsonValue>>;
}

/** The chain of a session, and the chain of what is decided in a project after its sessions have closed. */
export const sessionChain = (sessionId: string): string => `session:${sessionId}`;
export const reviewChain = (projectId: string): string => `review:${projectId}`;
