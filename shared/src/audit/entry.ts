import type { JsonValue } from '../json.ts';

/**
 * The catalogue of entry types. No entry holds the instruction, code or output: they hold digests, counts, names,
 * codes and durations. `catalogue.ts` has the schema of each body.
 */
export const auditEntryTypes = [
  'session.opened', // who, project, policy digest, instruction commitment, repository kind, runtime, model, surface
  'session.queued',
  'attempt.started', // attempt, server
  'session.running', // driver, warm
  'attempt.lost', // attempt, server, why
  'session.checkpointed', // number, cause, digests of archive, transcript, workspace and home
  'session.interrupted', // a person cut the turn short: kind
  'session.paused', // reason, number of the checkpoint
  'session.resumed',
  'budget.exhausted', // which budget; what was used; the person is asked
  'budget.declined', // nobody extends it: by a person, or by automation when nobody answered
  'budget.restarted', // why the counters began anew, and what they had been
  'budget.extended', // extension's number, what it grants
  'tool.proposed', // call, tool, arguments digest, path where the tool names one
  'tool.decided', // call, verdict, decided by, reasons, subject
  'tool.executed', // call, state, exit code, duration, output bytes
  'tool.abandoned', // a call that began and whose end nobody will tell; ended by the dispatcher's task
  'file.read', // call, path
  'file.modified', // call, path
  'egress.connected', // host, port: where a policy opens a way out
  'egress.closed', // host, port, bytes both ways, how long
  'egress.refused',
  'model.exchanged', // provider, model, four counts, cost, complete, costIsLowerBound
  'approval.requested',
  'approval.voted', // one of several people said yes
  'approval.decided', // subject, decision, how
  'context.compacted', // turn, how many messages; whether it cost an action
  'session.delegated', // child, the call that asked for it
  'session.reported', // child, how it ended; digest of the diff that its parent was shown
  'session.messaged', // who; commitment to the text; whether it restarted the budget
  'session.stopped', // by whom
  'session.revoked', // by which administrator; alone or with its person
  'user.revoked', // whose access an administrator took away
  'user.restored',
  'session.ended', // state, reason
  'sandbox.destroyed',
  'diff.offered', // digest, counts, files
  'diff.voted', // one of several people accepted it
  'diff.decided', // decision, subject, digest, the session's closing digest
  'agent.changed', // agent, its project, version, definition's digest
  'remote_tool.approved', // agent, tool, digest of its definition
  'remote_tool.changed', // a server describes an approved tool otherwise: both digests
  'remote_tool.called', // call, tool, digests of arguments and result, how long
  'environment.requested', // environment, project, cause, the session that prepares it
  'environment.built', // environment, key, digest and bytes of its archive
  'environment.failed', // environment, reason
  'environment.used', // of a session: environment, key, digest of the archive
  'environment.skipped', // of a session: key, why it goes on without
  'environment.awaited', // of a session: key, the build that it waits for
  'credential.changed', // its owner, name and version; never a value
  'credential.removed',
  'skill.pushed', // skill, project, version, digest of its files
  'memory.refused', // what a session wanted remembered and looks like a secret: how many files, of which kinds
  'memory.changed', // agent, project, version before and after, how many files, by whom
  'object.created', // object, project, type; by a person, an agent or an account outside
  'object.changed', // object, version, names of what changed, status where it did
  'object.commented', // object, comment, commitment to the text
  'object.attached', // object, session whose files were linked to it, how many
  'delivery.started', // what started a session without a direct call: cause, delivery, session, whose rights
  'delivery.refused', // cause, delivery, reason
  'trigger.changed', // trigger, project, version, definition's digest
  'trigger.disabled', // trigger or hook, why: by the fleet
  'trigger.removed',
  'hook.changed', // hook, source, version, whether the secret is another one
  'hook.removed',
  'account.linked', // account of another system, which person it is
  'account.unlinked',
  'target.changed', // who is told of what happens: target, project, kind of place, version
  'target.disabled', // by the fleet: the receiver wants nothing any more
  'target.removed',
  'policy.changed', // project, digest before and after
  'queue.changed', // project's weight, bounds, pool: before and after
  'intake.paused', // fleet, pool or project
  'intake.resumed',
  'fleet.stopped', // the kill switch: how many sessions were ended
  'server.invited', // a join token was made: pool, capacity
  'server.approved', // its capacity is no longer clamped
  'server.drained', // deadline
  'server.undrained',
  'server.joined',
  'server.left',
  'login.accepted',
  'config.changed', // service, names of the variables whose values are others than at the start before
  'admin.acted', // an administrator's act that has no type of its own: what was done to what
  'budget.set', // scope, name, amount
  'price.set', // what costs how much from when on
  'costs.corrected', // span, commitment to the reason, difference
  'retention.changed', // project, rules before and after
  'retention.applied', // project, what a rule has removed and how much of it
  'hold.placed', // legal hold over a project or a session
  'hold.released',
  'content.retained', // session, digests of the encrypted parts, until when
  'content.read', // retained content was shown to somebody
  'content.shredded', // key of a project or a session destroyed
  'session.erased', // what was removed, row by row and object by object, as counts
  'person.erased', // pseudonym whose row in the map was erased
  'login.refused', // why, from which address (as a commitment), how often since the last entry
  'login.ended', // the person logged out
  'role.bound', // role, project, to which group or person
  'role.unbound',
  'token.created', // service token's id, project, roles, scopes, end
  'token.revoked',
  'log.key_rotated', // old and new key, signed by both
  'log.restored', // epoch, the last checkpoint that the world outside had seen
  'log.undeliverable', // sink, id of the entry that the receiver refuses, why
  'chain.opened',
  'chain.closed', // how many entries the chain has, this one included; the log adds it
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

/** An entry in its place. `body` is the envelope's canonical JSON: the very bytes that were hashed and are stored. */
export interface ChainedEntry {
  readonly chain: string;
  /** Counts from 1 without holes. */
  readonly seq: number;
  /** The digest of the entry before; no bytes for the first. */
  readonly prev: Uint8Array;
  readonly digest: Uint8Array;
  readonly body: Uint8Array;
  readonly type: string;
  /** RFC 3339 with milliseconds, UTC. */
  readonly at: string;
}

/** The chain of a session; it opens with `session.opened` and closes with `chain.closed`. */
export const sessionChain = (sessionId: string): string => `session:${sessionId}`;
/** The chain of what is decided in a project after its sessions have closed. It opens by itself and stays open. */
export const reviewChain = (projectId: string): string => `review:${projectId}`;
/** The chain of what belongs to no project: servers that join and leave, refused logins. It opens by itself. */
export const fleetChain = 'fleet:main';

/** The type that must be a chain's first entry and can be no other. */
export const openingType = (chain: string): AuditEntryType =>
  chain.startsWith('session:') ? 'session.opened' : 'chain.opened';
