import { z } from 'zod';
import { CodedError } from '../errors/coded-error.ts';
import { deciders } from '../protocol/permit.ts';
import { sha256Schema } from '../protocol/identity.ts';
import { sessionStates } from '../session/state.ts';
import type { AuditDraft, AuditEntryType } from './entry.ts';
import { fitMember } from './members.ts';
import type { JsonValue } from '../json.ts';

const name = z.string().min(1);
const body = z.looseObject;

/**
 * What an entry's body must have: `call` and `approval` are ids, digests end in `Digest`. Members beyond these may be added at any time: a reader ignores what it does not
 * know. What matters to a security officer is required: who decided, which call, how it ended.
 */
const bodies = {
  'session.opened': body({ policyDigest: sha256Schema }),
  'session.queued': body({}),
  'attempt.started': body({}),
  'session.running': body({}),
  'attempt.lost': body({}),
  'session.checkpointed': body({ number: z.int().min(1), archiveDigest: sha256Schema }),
  'session.interrupted': body({ kind: name }),
  'session.paused': body({ reason: name }),
  'session.resumed': body({}),
  'budget.exhausted': body({ cause: name }),
  'budget.declined': body({ decidedBy: z.enum(deciders) }),
  'budget.extended': body({}),
  'budget.restarted': body({ cause: name }),
  'tool.proposed': body({ call: name, tool: name }),
  'tool.decided': body({ call: name, decidedBy: z.enum(deciders) }),
  'tool.executed': body({ call: name, state: name }),
  'tool.abandoned': body({ call: name, why: name }),
  'file.read': body({ call: name, path: name }),
  'file.modified': body({ call: name, path: name }),
  'egress.connected': body({ host: name, port: z.int() }),
  'egress.closed': body({
    host: name,
    port: z.int(),
    sentBytes: z.int(),
    receivedBytes: z.int(),
    durationMs: z.int(),
  }),
  'egress.refused': body({ host: name, reason: name }),
  'model.exchanged': body({ model: name }),
  'approval.requested': body({ approval: name, call: name }),
  'approval.voted': body({ approval: name, call: name }),
  'approval.decided': body({ approval: name, decidedBy: z.enum(deciders) }),
  'context.compacted': body({}),
  'session.delegated': body({ child: name, call: name }),
  'session.reported': body({ child: name, state: name }),
  'session.messaged': body({}),
  'session.stopped': body({}),
  'session.revoked': body({}),
  'user.revoked': body({ user: name }),
  'user.restored': body({ user: name }),
  'session.ended': body({ state: z.enum(sessionStates), reason: name }),
  'sandbox.destroyed': body({}),
  'diff.offered': body({}),
  'diff.voted': body({ sha256: sha256Schema }),
  'diff.decided': body({ decision: name }),
  'agent.changed': body({ agent: name, version: z.int().min(1), definitionDigest: sha256Schema }),
  'remote_tool.approved': body({ agent: name, tool: name, definitionDigest: sha256Schema }),
  'remote_tool.changed': body({ agent: name, tool: name, approvedDigest: sha256Schema }),
  'remote_tool.called': body({
    call: name,
    tool: name,
    argumentsDigest: sha256Schema,
    resultDigest: sha256Schema,
  }),
  'environment.requested': body({ environment: name, project: name, cause: name, session: name }),
  'environment.built': body({ environment: name, key: sha256Schema, archiveDigest: sha256Schema }),
  'environment.failed': body({ environment: name, reason: name }),
  'environment.used': body({ environment: name, key: sha256Schema, archiveDigest: sha256Schema }),
  'environment.skipped': body({ key: sha256Schema, why: name }),
  'environment.awaited': body({ key: sha256Schema }),
  'credential.changed': body({ owner: name, credential: name, version: z.int().min(1) }),
  'credential.removed': body({ owner: name, credential: name }),
  'skill.pushed': body({ skill: name, project: name, version: z.int().min(1), filesDigest: sha256Schema }),
  'memory.refused': body({
    agent: name,
    project: name,
    session: name,
    files: z.int().min(1),
    kinds: z.array(name),
  }),
  'memory.changed': body({ agent: name, project: name, version: z.int() }),
  'object.created': body({ object: name, project: name, type: name }),
  'object.changed': body({ object: name, version: z.int().min(1), changed: z.array(name) }),
  'object.commented': body({ object: name, comment: name }),
  'object.attached': body({ object: name, session: name, files: z.int().min(1) }),
  'delivery.started': body({ delivery: name, cause: name, session: name, agent: name, owner: name }),
  'delivery.refused': body({ delivery: name, cause: name, reason: name }),
  'trigger.changed': body({
    trigger: name,
    project: name,
    version: z.int().min(1),
    definitionDigest: sha256Schema,
  }),
  'trigger.disabled': body({ reason: name }),
  'trigger.removed': body({ trigger: name, project: name }),
  'hook.changed': body({ hook: name, project: name, source: name, version: z.int().min(1) }),
  'hook.removed': body({ hook: name, project: name }),
  'account.linked': body({ source: name, account: name, user: name }),
  'account.unlinked': body({ source: name, account: name }),
  'target.changed': body({ target: name, project: name, kind: name, version: z.int().min(1) }),
  'target.disabled': body({ target: name, project: name, reason: name }),
  'target.removed': body({ target: name, project: name }),
  'policy.changed': body({ policyDigest: sha256Schema }),
  'queue.changed': body({}),
  'intake.paused': body({ scope: name }),
  'intake.resumed': body({ scope: name }),
  'fleet.stopped': body({}),
  'server.invited': body({ pool: name }),
  'server.approved': body({}),
  'server.drained': body({}),
  'server.undrained': body({}),
  'server.joined': body({}),
  'server.left': body({}),
  'login.accepted': body({}),
  'login.refused': body({}),
  'config.changed': body({ service: name, changed: z.array(name) }),
  'admin.acted': body({ act: name, target: name }),
  'budget.set': body({ scope: name, name, amountUsd: name.nullable() }),
  'price.set': body({ of: name }),
  'costs.corrected': body({ reasonCommitment: sha256Schema, corrected: z.int(), differenceUsd: name }),
  'retention.changed': body({ project: name, rules: z.record(z.string(), z.unknown()) }),
  'retention.applied': body({ rule: name, removed: z.record(z.string(), z.int()) }),
  'hold.placed': body({ hold: name, scope: z.enum(['project', 'session']), of: name }),
  'hold.released': body({ hold: name }),
  'content.retained': body({ session: name, parts: z.int().min(1), until: name }),
  'content.read': body({ session: name, kind: name }),
  'content.shredded': body({ scope: z.enum(['project', 'session']), of: name }),
  'session.erased': body({ session: name, removed: z.record(z.string(), z.int()) }),
  'person.erased': body({ person: name }),
  'login.ended': body({}),
  'role.bound': body({ role: name, project: name, principal: name }),
  'role.unbound': body({ role: name, project: name, principal: name }),
  'token.created': body({ token: name, project: name }),
  'token.revoked': body({ token: name, project: name }),
  'log.key_rotated': body({ oldKey: name, newKey: name, oldSignature: name, newSignature: name }),
  'log.restored': body({ epoch: z.int().min(1), fromNumber: z.int(), anchorNumber: z.int().min(0) }),
  'log.undeliverable': body({ sink: name, entry: name, reason: name }),
  'chain.opened': body({}),
  'chain.closed': body({}),
} as const satisfies Readonly<Record<AuditEntryType, z.ZodType>>;

/** What the catalogue asks of the members of each type's body, by their names. */
export const catalogueMembers: readonly (readonly [AuditEntryType, Readonly<Record<string, z.ZodType>>])[] =
  Object.entries(bodies).map(([type, { shape }]) => [type as AuditEntryType, shape]);

/** Members that could only hold content, which the log never has: a person's words, code, a command and its output. */
export const contentMembers: readonly string[] = [
  'instruction',
  'prompt',
  'text',
  'content',
  'message',
  'arguments',
  'command',
  'output',
  'stdout',
  'stderr',
  'preview',
  'patch',
  'diff',
];

/**
 * Checks a draft before it is hashed for ever; text that has not the form of its member (`members.ts`) is withheld.
 * @throws CodedError `internal`: a draft that does not fit is a fault in the code that appends it, told without values
 */
export function checkDraft(draft: AuditDraft): AuditDraft {
  if (draft.subject.length === 0) throw misfit(draft.type, 'subject: nobody acted');
  const content = Object.keys(draft.body).find((member) => contentMembers.includes(member));
  if (content !== undefined)
    throw misfit(draft.type, `${content}: would hold content; commit to it or leave it out`);
  const fitted = fitBody(draft);
  const parsed = bodies[draft.type].safeParse(fitted.body);
  if (parsed.success) return fitted;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw misfit(draft.type, faults.join('; '));
}

function fitBody(draft: AuditDraft): AuditDraft {
  let changed: Record<string, JsonValue> | null = null;
  for (const [member, value] of Object.entries(draft.body)) {
    const fitted = fitMember(member, value);
    if (fitted !== value) changed = { ...(changed ?? draft.body), [member]: fitted };
  }
  return changed === null ? draft : { ...draft, body: changed };
}

function misfit(type: string, what: string): CodedError {
  return new CodedError('internal', `The audit entry ${type} does not fit the catalogue. ${what}.`, { type });
}
