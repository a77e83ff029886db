import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditEntryTypes } from '@lemniscate/shared/audit/entry.ts';
import type { AuditEntryType } from '@lemniscate/shared/audit/entry.ts';

/** What each act over the public API leaves in the audit log. */
const entries: Readonly<Record<string, readonly AuditEntryType[]>> = {
  'POST /v1/logout': ['login.ended'],
  'POST /v1/login/browser': ['login.accepted', 'login.refused'],
  'POST /v1/login/device/finish': ['login.accepted', 'login.refused'],
  'PUT /v1/role-bindings': ['role.bound'],
  'DELETE /v1/role-bindings': ['role.unbound'],
  'POST /v1/tokens': ['token.created'],
  'DELETE /v1/tokens/:tokenId': ['token.revoked'],
  'POST /v1/agents': ['agent.changed'],
  'PUT /v1/agents/:agent': ['agent.changed'],
  'PUT /v1/agents/:agent/credentials/:name': ['credential.changed'],
  'DELETE /v1/agents/:agent/credentials/:name': ['credential.removed'],
  'POST /v1/agents/:agent/remote-tools/approve': ['remote_tool.approved'],
  'PUT /v1/projects/:id/skills/:skill': ['skill.pushed'],
  'POST /v1/sessions': ['session.opened'],
  'POST /v1/sessions/:id/approvals/:approvalId': ['approval.voted', 'approval.decided'],
  'POST /v1/sessions/:id/extension': ['budget.extended', 'budget.declined'],
  'PUT /v1/sessions/:id/client-run': ['budget.restarted'],
  'POST /v1/sessions/:id/messages': ['session.messaged'],
  'POST /v1/sessions/:id/interrupt': ['session.interrupted'],
  'POST /v1/sessions/:id/finish': ['session.ended'],
  'POST /v1/sessions/:id/stop': ['session.stopped'],
  'POST /v1/sessions/:id/revoke': ['session.revoked'],
  'POST /v1/sessions/:id/diff/accept': ['diff.voted', 'diff.decided'],
  'POST /v1/sessions/:id/diff/reject': ['diff.decided'],
  'POST /v1/sessions/:id/erase': ['session.erased'],
  'PUT /v1/revocations/:subject': ['user.revoked'],
  'DELETE /v1/revocations/:subject': ['user.restored'],
  'PUT /v1/costs/budgets/:scope/:name': ['budget.set'],
  'PUT /v1/costs/centres/:project': ['admin.acted'],
  'PUT /v1/costs/pools/:pool': ['price.set'],
  'POST /v1/costs/corrections': ['costs.corrected'],
  'POST /v1/costs/rebuild': ['admin.acted'],
  'POST /v1/projects': ['policy.changed'],
  'PUT /v1/projects/:id/policy': ['policy.changed'],
  'PUT /v1/projects/:id/queue': ['queue.changed'],
  'PUT /v1/projects/:id/workspace': ['admin.acted'],
  'PUT /v1/projects/:id/retention': ['retention.changed'],
  'POST /v1/projects/:id/shred-content': ['content.shredded'],
  'POST /v1/projects/:id/environments': ['environment.requested'],
  'POST /v1/people/:subject/erase': ['person.erased'],
  'POST /v1/holds': ['hold.placed'],
  'DELETE /v1/holds/:id': ['hold.released'],
  'POST /v1/hooks': ['hook.changed'],
  'PUT /v1/hooks/:hook': ['hook.changed'],
  'DELETE /v1/hooks/:hook': ['hook.removed'],
  'PUT /v1/account-links': ['account.linked'],
  'DELETE /v1/account-links': ['account.unlinked'],
  'POST /v1/triggers': ['trigger.changed'],
  'PUT /v1/triggers/:trigger': ['trigger.changed'],
  'DELETE /v1/triggers/:trigger': ['trigger.removed'],
  'POST /v1/notify-targets': ['target.changed'],
  'PUT /v1/notify-targets/:target': ['target.changed'],
  'DELETE /v1/notify-targets/:target': ['target.removed'],
  'POST /v1/notify-targets/:target/messages/:message/resend': ['admin.acted'],
  'POST /v1/hooks/:hook': ['delivery.started', 'delivery.refused', 'object.created', 'object.changed'],
  'POST /v1/events': ['delivery.started', 'delivery.refused'],
  'POST /v1/objects': ['object.created'],
  'PATCH /v1/objects/:object': ['object.changed'],
  'POST /v1/objects/:object/comments': ['object.commented'],
  'POST /v1/objects/:object/files': ['object.attached'],
  'PUT /v1/pools/:pool': ['admin.acted'],
  'PUT /v1/intake/:scope': ['intake.paused'],
  'DELETE /v1/intake/:scope': ['intake.resumed'],
  'POST /v1/fleet/stop': ['fleet.stopped', 'session.revoked'],
  'POST /v1/server-invitations': ['server.invited'],
  'POST /v1/server-invitations/use': ['server.joined'],
  'POST /v1/servers': ['server.joined'],
  'DELETE /v1/servers/:id': ['server.left'],
  'PUT /v1/servers/:id/drain': ['server.drained'],
  'DELETE /v1/servers/:id/drain': ['server.undrained'],
  'PUT /v1/servers/:id/approval': ['server.approved'],
  'POST /v1/audit/exporters/resends': ['admin.acted'],
};

/** Requests that change nothing that the log tells of, and why. */
const silent: Readonly<Record<string, string>> = {
  'POST /v1/login/links': 'asks for an address; its end is an entry',
  'POST /v1/login/device': 'begins a login; its end is an entry',
  'PUT /v1/inbox/:item': 'a person’s own mark on what they have read',
  'POST /v1/uploads': 'bytes that nothing names yet; the session that does is an entry',
  'POST /v1/uploads/:uploadId/complete': 'the same',
  'POST /v1/costs/reconciliations': 'computes and keeps nothing',
  'POST /v1/projects/:id/policy/try': 'computes and keeps nothing',
  'POST /v1/triggers/try': 'computes and keeps nothing',
  'POST /v1/agents/:agent/remote-tools/look': 'asks a server what it has; an approval of it is an entry',
  'POST /v1/notify-targets/:target/test': 'sends words of ours to a place that an entry has named',
};

/** Every request of the public API that is no reading one. */
function acts(): string[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('-routes.ts'))
    .flatMap((file) => {
      const source = readFileSync(join(import.meta.dirname, file), 'utf8');
      const calls = source.matchAll(/\.(post|put|patch|delete)(?:<[^>(]*>)?\(\s*'(\/v1\/[^']+)'/g);
      return [...calls].map(([, method = '', path = '']) => `${method.toUpperCase()} ${path}`);
    });
}

test('every act over the public API says what it leaves in the audit log, or why nothing', () => {
  const all = acts();
  assert.ok(all.length > 70);
  const known = new Set([...Object.keys(entries), ...Object.keys(silent)]);
  assert.deepEqual(
    all.filter((act) => !known.has(act)),
    [],
    'a new request: name its entry',
  );
  assert.deepEqual(
    [...known].filter((act) => !all.includes(act)),
    [],
    'a request that is gone',
  );
  for (const types of Object.values(entries))
    for (const type of types) assert.ok(auditEntryTypes.includes(type), type);
});
