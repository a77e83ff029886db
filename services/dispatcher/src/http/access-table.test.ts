import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { accessTable } from './access-table.ts';
import { createApp } from './app.ts';
import { requireAccess } from './authorise.ts';
import { registerPublicRoutes } from './serve.ts';
import type { PublicDeps } from './serve.ts';

const rows = Object.entries(accessTable).flatMap(([route, row]) =>
  typeof row === 'string' ? [] : [{ route, ...row }],
);
// What is only asked and judged changes nothing, whatever its method.
const changes = rows.filter(({ route }) => !route.startsWith('GET ') && !route.endsWith('/try'));
const may = (role: Role) =>
  changes.filter(({ who, own }) => [...who, ...(own ?? [])].includes(role)).map(({ route }) => route);

const publicApp = () =>
  createApp({
    title: 'table',
    logger: pino({ level: 'silent' }),
    newId: createNewId(),
    bodyLimit: 1024,
    tls: null,
  });

describe('the table of who may use which route', () => {
  test('a route without a row stops the service, and is told what to add', async () => {
    const app = await publicApp();
    requireAccess(app, { query: () => Promise.resolve([]) });
    assert.throws(
      () => app.get('/v1/brand-new', () => ({})),
      /"GET \/v1\/brand-new" has no row in .*access-table\.ts.*Add one line/,
    );
    await app.close();
  });

  test('every row belongs to a route that there is', async () => {
    const app = await publicApp();
    const known = new Set<string>();
    app.addHook('onRoute', ({ method, path }) => {
      for (const name of [method].flat()) known.add(`${name} ${path}`);
    });
    // Nothing is called: routes only keep what they are given.
    registerPublicRoutes(app, {} as PublicDeps);
    await app.ready();
    const stale = Object.keys(accessTable).filter((route) => !known.has(route));
    assert.deepEqual(stale, [], 'take these rows out of access-table.ts, or register their routes');
    await app.close();
  });

  test('whoever only watches changes nothing', () => {
    assert.deepEqual(may('auditor'), []);
    assert.deepEqual(
      may('finops').filter((route) => !route.includes('/v1/costs/')),
      [],
    );
    assert.deepEqual(may('operator'), [
      'POST /v1/sessions/:id/stop',
      'PUT /v1/projects/:id/queue',
      'PUT /v1/intake/:scope',
      'DELETE /v1/intake/:scope',
      'POST /v1/server-invitations',
      'PUT /v1/pools/:pool',
      'PUT /v1/servers/:id/drain',
      'DELETE /v1/servers/:id/drain',
      'PUT /v1/servers/:id/approval',
      'DELETE /v1/servers/:id',
      'POST /v1/costs/rebuild',
    ]);
  });

  test('a member decides on own sessions alone, and administers nothing', () => {
    const decisions = rows.filter(({ route }) => /accept|reject|approvals\/:|extension$/.test(route));
    assert.ok(decisions.length >= 4);
    for (const { route, who, own } of decisions.filter(({ route }) => route.startsWith('POST'))) {
      assert.ok(!who.includes('member') && own?.includes('member'), route);
    }
    const administered = rows.filter(
      ({ route, area }) => area === 'access' || /revoke|policy|role-bindings|tokens/.test(route),
    );
    // a try-out judges commands and changes nothing
    const changing = administered.filter(({ route }) => !/^GET|\/try$/.test(route));
    for (const { route, who } of changing)
      assert.ok(!who.includes('member') && !who.includes('approver'), route);
  });

  test('the audit log is nobody’s to write, and no route is open that tells of anybody', () => {
    assert.deepEqual(
      changes.filter(({ area }) => area === 'audit'),
      [],
    );
    const open = Object.keys(accessTable).filter((route) => accessTable[route] === 'open');
    assert.ok(
      open.every((route) =>
        /^GET \/(healthz|readyz|openapi\.json|console.*)?$|\/v1\/login|^GET \/\.well-known\/oauth-protected-resource|\/server-invitations\/use$|\/v1\/hooks\/:hook$/.test(
          route,
        ),
      ),
      `open to everybody: ${open.join(', ')}`,
    );
  });
});
