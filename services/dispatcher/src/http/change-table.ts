/**
 * How a change says what it saw:
 * - `version`: `If-Match` with the version that was read, `"0"` where there was nothing; 428 without, 412 when somebody
 *   was faster
 * - `content`: the same with a digest of what was read, where settings are kept without versions
 * - a sentence: why it need not
 */
export type ChangeRow = 'version' | 'content' | { readonly unseen: string };

const safeSide: ChangeRow = {
  unseen: 'It takes the safe side, at once; what is there already stays, with who did it first and why.',
};
const endsForGood: ChangeRow = {
  unseen: 'The thing is made and ended and never changed, and its id is never used again.',
};
const ownMark: ChangeRow = { unseen: 'It is the caller’s own mark, which nobody else changes.' };

/** Every route that changes or removes what others change too. `change-table.test.ts` fails on a new one without a row. */
export const changeTable: Readonly<Record<string, ChangeRow>> = {
  'PUT /v1/role-bindings': 'version',
  'DELETE /v1/role-bindings': 'version',
  'DELETE /v1/tokens/:tokenId': endsForGood,
  'PUT /v1/revocations/:subject': safeSide,
  'DELETE /v1/revocations/:subject': 'version',
  'PUT /v1/sessions/:id/client-run': { unseen: 'It says which run of a client follows; the last one does.' },
  'PUT /v1/projects/:id/policy': 'version',
  'PUT /v1/projects/:id/queue': 'content',
  'PUT /v1/projects/:id/retention': 'content',
  'PUT /v1/intake/:scope': safeSide,
  'DELETE /v1/intake/:scope': 'version',
  'PUT /v1/agents/:agent': 'version',
  'PUT /v1/agents/:agent/credentials/:name': 'version',
  'DELETE /v1/agents/:agent/credentials/:name': 'version',
  'PUT /v1/projects/:id/skills/:skill': 'version',
  'POST /v1/projects/:id/agents/:agent/memory/restore': 'version',
  'PATCH /v1/objects/:object': 'version',
  'PUT /v1/projects/:id/workspace': 'version',
  'PUT /v1/triggers/:trigger': 'version',
  'DELETE /v1/triggers/:trigger': 'version',
  'PUT /v1/hooks/:hook': 'version',
  'DELETE /v1/hooks/:hook': 'version',
  'PUT /v1/account-links': 'version',
  'DELETE /v1/account-links': 'version',
  'PUT /v1/notify-targets/:target': 'version',
  'DELETE /v1/notify-targets/:target': 'version',
  'PUT /v1/inbox/:item': ownMark,
  'PUT /v1/pools/:pool': 'version',
  'PUT /v1/servers/:id/drain': 'version',
  'DELETE /v1/servers/:id/drain': 'version',
  'PUT /v1/servers/:id/approval': 'version',
  'DELETE /v1/servers/:id': endsForGood,
  'DELETE /v1/holds/:id': endsForGood,
  'PUT /v1/costs/budgets/:scope/:name': 'version',
  'PUT /v1/costs/centres/:project': 'version',
  'PUT /v1/costs/pools/:pool': 'version',
};

/** Whether a route takes `If-Match`. */
export function namesVersion(method: string, path: string): boolean {
  const name = `${method} ${path}`;
  const row = Object.hasOwn(changeTable, name) ? changeTable[name] : undefined;
  return row === 'version' || row === 'content';
}

/** Routes that tell the version of what they show or make; so does every change that names one, but a removal. */
const telling: ReadonlySet<string> = new Set([
  'POST /v1/agents',
  'GET /v1/agents/:agent',
  'GET /v1/projects/:id/skills/:skill',
  'GET /v1/projects/:id/agents/:agent/memory',
  'GET /v1/projects/:id/policy',
  'GET /v1/projects/:id/queue',
  'GET /v1/projects/:id/retention',
  'GET /v1/projects/:id/workspace',
  'POST /v1/objects',
  'GET /v1/objects/:object',
  'POST /v1/triggers',
  'GET /v1/triggers/:trigger',
  'POST /v1/hooks',
  'GET /v1/hooks/:hook',
  'POST /v1/notify-targets',
  'GET /v1/notify-targets/:target',
  'GET /v1/costs/centres/:project',
  'GET /v1/costs/pools/:pool',
  'GET /v1/sessions/:id/diff',
]);

/** Whether a route's answers have an `ETag`. */
export function tellsVersion(method: string, path: string): boolean {
  return telling.has(`${method} ${path}`) || (method !== 'DELETE' && namesVersion(method, path));
}
