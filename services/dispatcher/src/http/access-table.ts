import type { Role } from '@lemniscate/shared/identity/roles.ts';
import type { Area } from '@lemniscate/shared/identity/scopes.ts';
import type { AccessRule } from '../application/access/access-rule.ts';

/**
 * Where a request says what it is about:
 * - `fleet`: nothing of a single project; the role must be held everywhere
 * - `somewhere`: a role in any project will do; the handler shows only what belongs to the person
 * - `session`: `:id` is a session
 * - `project`: `:id` or `:project` is a project
 * - `body` / `query`: `project` in the body or query; absent, or `*`, the request is about the whole fleet
 * - `bodyOrDefault` / `queryOrDefault`: the same, but absent it is the default project, as in the route's schema
 * - `chain`: `:chain` or `chain` in the query is an audit chain, which belongs to a session, a project or the fleet
 */
export type PlaceSource =
  | 'fleet'
  | 'somewhere'
  | 'session'
  | 'project'
  | 'body'
  | 'bodyOrDefault'
  | 'query'
  | 'queryOrDefault'
  | 'chain';

/** Who may use a route; `open` needs no login, `anybody` any login at all. */
export type AccessRow = 'open' | 'anybody' | (AccessRule & { readonly of: PlaceSource });

const everyRole: readonly Role[] = [
  'member',
  'approver',
  'project_admin',
  'administrator',
  'auditor',
  'finops',
  'operator',
];
const readers: readonly Role[] = ['member', 'approver', 'project_admin', 'administrator', 'auditor'];
const workers: readonly Role[] = ['member', 'project_admin', 'administrator'];
const deciders: readonly Role[] = ['approver', 'project_admin', 'administrator'];
const admins: readonly Role[] = ['project_admin', 'administrator'];
const administrators: readonly Role[] = ['administrator'];
const operators: readonly Role[] = ['operator', 'administrator'];
const accountants: readonly Role[] = ['finops', 'administrator'];
const costReaders: readonly Role[] = [...readers, 'finops'];
const ownMember: readonly Role[] = ['member'];

const row = (area: Area, of: PlaceSource, who: readonly Role[], own?: readonly Role[]): AccessRow => ({
  area,
  of,
  who,
  ...(own === undefined ? {} : { own }),
});

/**
 * Every public route and who may use it. A route that has no row here stops the service at start: add one line, and
 * `access-table.integration.test.ts` walks it for every role, in the caller's project and in another.
 */
export const accessTable: Readonly<Record<string, AccessRow>> = {
  'GET /healthz': 'open',
  'GET /readyz': 'open',
  'GET /openapi.json': 'open',

  // how one gets in
  'GET /v1/login/options': 'open',
  'GET /v1/login': 'open',
  'GET /v1/login/callback': 'open',
  'POST /v1/login/device': 'open',
  'POST /v1/login/device/finish': 'open',
  'POST /v1/login/browser': 'open',
  'POST /v1/login/links': 'anybody',

  // the console's files hold nothing of anybody's
  'GET /': 'open',
  'GET /console': 'open',
  'GET /console/*': 'open',
  'GET /console/assets/:file': 'open',

  // who one is, and who may be what
  'GET /v1/me': 'anybody',
  'POST /v1/logout': 'anybody',
  'GET /v1/role-bindings': row('access', 'somewhere', [...admins, 'auditor']),
  'PUT /v1/role-bindings': row('access', 'body', admins),
  'DELETE /v1/role-bindings': row('access', 'query', admins),
  'GET /v1/tokens': row('access', 'somewhere', [...admins, 'auditor']),
  'POST /v1/tokens': row('access', 'body', admins),
  'DELETE /v1/tokens/:tokenId': row('access', 'somewhere', admins),
  'GET /v1/revocations': row('access', 'fleet', ['administrator', 'auditor']),
  'PUT /v1/revocations/:subject': row('access', 'fleet', administrators),
  'DELETE /v1/revocations/:subject': row('access', 'fleet', administrators),

  // sessions
  'POST /v1/sessions': row('sessions', 'bodyOrDefault', workers),
  'GET /v1/sessions': row('sessions', 'somewhere', readers),
  'GET /v1/session-rows': row('sessions', 'somewhere', readers),
  'GET /v1/session-rows/events': row('sessions', 'somewhere', readers),
  'GET /v1/session-facets': row('sessions', 'somewhere', readers),
  'GET /v1/sessions/:id': row('sessions', 'session', readers),
  'GET /v1/sessions/:id/events': row('sessions', 'session', readers),
  'GET /v1/sessions/:id/log': row('sessions', 'session', readers),
  'GET /v1/sessions/:id/tool-calls': row('sessions', 'session', readers),
  'POST /v1/sessions/:id/stop': row('sessions', 'session', [...admins, 'operator'], ownMember),
  'POST /v1/sessions/:id/pause': row('sessions', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/resume': row('sessions', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/revoke': row('sessions', 'fleet', administrators),
  'POST /v1/sessions/:id/messages': row('sessions', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/interrupt': row('sessions', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/finish': row('sessions', 'session', deciders, ownMember),
  'POST /v1/uploads': row('sessions', 'queryOrDefault', workers),
  'POST /v1/uploads/:uploadId/complete': row('sessions', 'somewhere', workers),

  // what waits for a person
  'GET /v1/approvals': row('approvals', 'somewhere', readers),
  'GET /v1/approvals/events': row('approvals', 'somewhere', readers),
  'GET /v1/sessions/:id/approvals': row('approvals', 'session', readers),
  'POST /v1/sessions/:id/approvals/:approvalId': row('approvals', 'session', deciders, ownMember),
  'GET /v1/sessions/:id/extensions': row('approvals', 'session', readers),
  'PUT /v1/sessions/:id/client-run': row('approvals', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/extension': row('approvals', 'session', deciders, ownMember),
  'GET /v1/sessions/:id/diff': row('diffs', 'session', readers),
  'POST /v1/sessions/:id/diff/accept': row('diffs', 'session', deciders, ownMember),
  'POST /v1/sessions/:id/diff/reject': row('diffs', 'session', deciders, ownMember),

  // projects
  'GET /v1/projects': row('projects', 'somewhere', everyRole),
  'POST /v1/projects': row('projects', 'fleet', admins),
  'GET /v1/policy-schema': 'anybody',
  'GET /v1/projects/:id/policy': row('projects', 'project', readers),
  'PUT /v1/projects/:id/policy': row('projects', 'project', admins),
  'POST /v1/projects/:id/policy/try': row('projects', 'project', readers),
  'GET /v1/projects/:id/policies': row('projects', 'project', readers),
  'GET /v1/projects/:id/policies/:version': row('projects', 'project', readers),
  'GET /v1/projects/:id/environments': row('projects', 'project', readers),
  'GET /v1/projects/:id/environments/:environment': row('projects', 'project', readers),
  'POST /v1/projects/:id/environments': row('projects', 'project', admins),
  'GET /v1/projects/:id/queue': row('projects', 'project', [...readers, 'operator']),
  'PUT /v1/projects/:id/queue': row('servers', 'fleet', operators),

  // intake and the kill switch
  'GET /v1/intake': 'anybody',
  'PUT /v1/intake/:scope': row('servers', 'fleet', operators),
  'DELETE /v1/intake/:scope': row('servers', 'fleet', operators),
  'POST /v1/fleet/stop': row('servers', 'fleet', administrators),

  // agents and their skills
  'GET /v1/agents': row('agents', 'somewhere', readers),
  'POST /v1/agents': row('agents', 'body', admins),
  'GET /v1/agents/:agent': row('agents', 'somewhere', readers),
  'PUT /v1/agents/:agent': row('agents', 'somewhere', admins),
  'GET /v1/agents/:agent/versions': row('agents', 'somewhere', readers),
  'GET /v1/agents/:agent/versions/:version': row('agents', 'somewhere', readers),
  'GET /v1/agents/:agent/credentials': row('agents', 'somewhere', [...admins, 'auditor']),
  'PUT /v1/agents/:agent/credentials/:name': row('agents', 'somewhere', admins),
  'DELETE /v1/agents/:agent/credentials/:name': row('agents', 'somewhere', admins),
  'GET /v1/agents/:agent/remote-tools': row('agents', 'somewhere', readers),
  'POST /v1/agents/:agent/remote-tools/look': row('agents', 'somewhere', admins),
  'POST /v1/agents/:agent/remote-tools/approve': row('agents', 'somewhere', admins),
  'GET /v1/projects/:id/skills': row('agents', 'project', readers),
  'GET /v1/projects/:id/skills/:skill': row('agents', 'project', readers),
  'PUT /v1/projects/:id/skills/:skill': row('agents', 'project', workers),
  'GET /v1/projects/:id/agents/:agent/memory': row('agents', 'project', readers),
  'GET /v1/projects/:id/agents/:agent/memory/versions': row('agents', 'project', readers),
  'GET /v1/projects/:id/agents/:agent/memory/content': row('agents', 'project', readers),
  'POST /v1/projects/:id/agents/:agent/memory/restore': row('agents', 'project', admins),
  'GET /v1/projects/:id/agents/:agent/memory/proposals': row('agents', 'project', readers),
  'POST /v1/projects/:id/agents/:agent/memory/proposals/:session': row('agents', 'project', deciders),
  'GET /v1/projects/:id/agents/:agent/memory/carries': row('agents', 'project', readers),
  'POST /v1/projects/:id/agents/:agent/memory/carries': row('agents', 'project', workers),
  'POST /v1/projects/:id/agents/:agent/memory/carries/:carry': row('agents', 'project', deciders),
  'GET /v1/sessions/:id/files': row('sessions', 'session', readers),
  'GET /v1/sessions/:id/files/content': row('sessions', 'session', readers),

  // what people and agents work on together, and what waits for a person
  'GET /v1/objects': row('objects', 'somewhere', readers),
  'POST /v1/objects': row('objects', 'body', workers),
  'GET /v1/objects/:object': row('objects', 'somewhere', readers),
  'PATCH /v1/objects/:object': row('objects', 'somewhere', workers),
  'GET /v1/objects/:object/comments': row('objects', 'somewhere', readers),
  'POST /v1/objects/:object/comments': row('objects', 'somewhere', [...workers, 'approver']),
  'GET /v1/objects/:object/history': row('objects', 'somewhere', readers),
  'POST /v1/objects/:object/files': row('objects', 'somewhere', workers),
  'GET /v1/projects/:id/workspace': row('objects', 'project', readers),
  'PUT /v1/projects/:id/workspace': row('objects', 'project', admins),
  // what starts sessions
  'GET /v1/triggers': row('triggers', 'somewhere', readers),
  'POST /v1/triggers': row('triggers', 'body', workers),
  'GET /v1/triggers/:trigger': row('triggers', 'somewhere', readers),
  'PUT /v1/triggers/:trigger': row('triggers', 'somewhere', workers),
  'DELETE /v1/triggers/:trigger': row('triggers', 'somewhere', workers),
  'POST /v1/triggers/try': row('triggers', 'body', readers),
  'POST /v1/events': row('triggers', 'queryOrDefault', workers),
  'GET /v1/hooks': row('triggers', 'somewhere', [...admins, 'auditor']),
  'POST /v1/hooks': row('triggers', 'body', admins),
  'GET /v1/hooks/:hook': row('triggers', 'somewhere', [...admins, 'auditor']),
  'PUT /v1/hooks/:hook': row('triggers', 'somewhere', admins),
  'DELETE /v1/hooks/:hook': row('triggers', 'somewhere', admins),
  // other systems have no login: the signature over the bytes is theirs
  'POST /v1/hooks/:hook': 'open',
  'GET /v1/account-links': row('access', 'fleet', ['administrator', 'auditor']),
  'PUT /v1/account-links': row('access', 'fleet', administrators),
  'DELETE /v1/account-links': row('access', 'fleet', administrators),
  // who is told of what happens
  'GET /v1/notify-targets': row('triggers', 'somewhere', [...admins, 'auditor']),
  'POST /v1/notify-targets': row('triggers', 'body', admins),
  'GET /v1/notify-targets/:target': row('triggers', 'somewhere', [...admins, 'auditor']),
  'PUT /v1/notify-targets/:target': row('triggers', 'somewhere', admins),
  'DELETE /v1/notify-targets/:target': row('triggers', 'somewhere', admins),
  'POST /v1/notify-targets/:target/test': row('triggers', 'somewhere', admins),
  'GET /v1/notify-targets/:target/messages': row('triggers', 'somewhere', [...admins, 'auditor']),
  'POST /v1/notify-targets/:target/messages/:message/resend': row('triggers', 'somewhere', admins),
  'GET /v1/deliveries': row('objects', 'somewhere', readers),
  'GET /v1/inbox': 'anybody',
  'PUT /v1/inbox/:item': 'anybody',
  // the same for other programs; each tool borrows the row of the route that does what it does
  'POST /mcp': 'anybody',
  'GET /mcp': 'anybody',
  'GET /.well-known/oauth-protected-resource': 'open',
  'GET /.well-known/oauth-protected-resource/mcp': 'open',

  // agent servers
  'GET /v1/servers': row('servers', 'somewhere', ['operator', 'auditor', ...workers]),
  'POST /v1/servers': row('servers', 'somewhere', workers),
  'POST /v1/server-invitations': row('servers', 'fleet', operators),
  'POST /v1/server-invitations/use': 'open',
  'GET /metrics': row('servers', 'fleet', ['operator', 'auditor', 'administrator']),
  'GET /v1/pools': row('servers', 'somewhere', ['operator', 'auditor', ...workers]),
  'GET /v1/pools/metrics': row('servers', 'somewhere', ['operator', 'auditor', ...workers]),
  'PUT /v1/pools/:pool': row('servers', 'fleet', operators),
  'PUT /v1/servers/:id/drain': row('servers', 'fleet', operators),
  'DELETE /v1/servers/:id/drain': row('servers', 'fleet', operators),
  'PUT /v1/servers/:id/approval': row('servers', 'fleet', operators),
  'DELETE /v1/servers/:id': row('servers', 'somewhere', [...workers, 'operator']),

  // how the fleet does
  'GET /v1/fleet/queue': row('servers', 'somewhere', ['operator', 'auditor', ...workers]),
  'GET /v1/fleet/starts': row('servers', 'somewhere', ['operator', 'auditor', ...workers]),

  // the audit log
  'GET /v1/audit/chains': row('audit', 'fleet', ['auditor', 'administrator']),
  'GET /v1/audit/chains/:chain/entries': row('audit', 'chain', readers),
  'GET /v1/audit/search': row('audit', 'fleet', ['auditor', 'administrator']),
  'GET /v1/audit/exporters': row('audit', 'fleet', ['auditor', 'administrator', 'operator']),
  'GET /v1/audit/exporters/resends': row('audit', 'fleet', ['auditor', 'administrator', 'operator']),
  'POST /v1/audit/exporters/resends': row('servers', 'fleet', administrators),
  'GET /v1/audit/checkpoints': row('audit', 'somewhere', everyRole),
  'GET /v1/audit/proofs/inclusion': row('audit', 'chain', readers),
  'GET /v1/audit/proofs/consistency': row('audit', 'somewhere', everyRole),

  // what is kept, and what is forgotten
  'GET /v1/projects/:id/retention': row('projects', 'project', readers),
  'PUT /v1/projects/:id/retention': row('projects', 'project', admins),
  'POST /v1/projects/:id/shred-content': row('projects', 'fleet', administrators),
  'GET /v1/sessions/:id/content': row('audit', 'session', ['auditor', 'administrator']),
  'GET /v1/sessions/:id/content/:part': row('audit', 'session', ['auditor', 'administrator']),
  'POST /v1/sessions/:id/erase': row('sessions', 'session', admins),
  'POST /v1/people/:subject/erase': row('access', 'fleet', administrators),
  'GET /v1/holds': row('access', 'fleet', ['auditor', 'administrator']),
  'POST /v1/holds': row('access', 'fleet', administrators),
  'DELETE /v1/holds/:id': row('access', 'fleet', administrators),

  // costs
  'GET /v1/costs': row('costs', 'query', costReaders),
  'GET /v1/costs/series': row('costs', 'query', costReaders),
  'GET /v1/costs/export': row('costs', 'query', costReaders),
  'GET /v1/costs/unit': row('costs', 'query', costReaders),
  'GET /v1/costs/forecast': row('costs', 'query', costReaders),
  'GET /v1/costs/anomalies': row('costs', 'query', costReaders),
  'GET /v1/costs/budgets': row('costs', 'fleet', [...accountants, 'auditor']),
  'PUT /v1/costs/budgets/:scope/:name': row('costs', 'fleet', accountants),
  'GET /v1/costs/centres/:project': row('costs', 'project', [...accountants, 'auditor']),
  'GET /v1/costs/pools/:pool': row('costs', 'fleet', [...accountants, 'auditor']),
  'PUT /v1/costs/centres/:project': row('costs', 'project', accountants),
  'PUT /v1/costs/pools/:pool': row('costs', 'fleet', accountants),
  'POST /v1/costs/corrections': row('costs', 'fleet', accountants),
  'POST /v1/costs/reconciliations': row('costs', 'fleet', accountants),
  'POST /v1/costs/rebuild': row('costs', 'fleet', [...accountants, 'operator']),
};

/** The row of a route. HEAD is served with GET. @throws Error where there is none: a fault of ours */
export function rowOf(method: string, path: string): AccessRow {
  const name = `${method === 'HEAD' ? 'GET' : method} ${path}`;
  const row = Object.hasOwn(accessTable, name) ? accessTable[name] : undefined;
  if (row !== undefined) return row;
  throw new Error(
    `The route "${name}" has no row in services/dispatcher/src/http/access-table.ts. Add one line that says who may use it, such as: '${name}': row('sessions', 'session', readers),`,
  );
}

/** Whether a route needs no login. */
export function isOpenRoute(method: string, path: string): boolean {
  return rowOf(method, path) === 'open';
}
