import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { isProjectRole, roles } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { scopeOf, scopes } from '@lemniscate/shared/identity/scopes.ts';
import { accessTable } from './http/access-table.ts';
import type { AccessRow } from './http/access-table.ts';
import { failuresPerWindow } from './application/access/login-failures.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

type Ruled = Exclude<AccessRow, string>;
const ruled = Object.entries(accessTable).flatMap(([route, row]) =>
  typeof row === 'string' ? [] : [{ route, row }],
);
/** Streams that never end by themselves: let in means that the head came. */
const streams = /\/events$/;

describe('every route, every role, own and other project', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  const logins = new Map<string, string>();
  const sessions = new Map<string, string>();

  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher();
    for (const project of ['own', 'other']) {
      assert.equal((await dispatcher.call('POST', '/v1/projects', { id: project })).status, 201);
      const opened = await dispatcher.call<{ id: string }>('POST', '/v1/sessions', {
        ...ordinaryRequest,
        project,
      });
      assert.equal(opened.status, 202);
      sessions.set(project, opened.body.id);
    }
    for (const role of [...roles, 'nobody'] as const) {
      const token = `lml_${randomBytes(32).toString('base64url')}`;
      await fleet.sql('INSERT INTO people (subject, name, groups) VALUES ($1, $1, $2)', [
        role,
        JSON.stringify([`the-${role}s`]),
      ]);
      await fleet.sql(
        `INSERT INTO logins (token_hash, subject, how, expires_at) VALUES ($1, $2, 'browser', now() + interval '1 hour')`,
        [createHash('sha256').update(token).digest(), role],
      );
      logins.set(role, token);
      if (role === 'nobody') continue;
      const binding = {
        kind: 'group',
        principal: `the-${role}s`,
        role,
        project: isProjectRole(role) ? 'own' : '*',
      };
      const bound = await dispatcher.call('PUT', '/v1/role-bindings', binding, { 'if-match': '"0"' });
      assert.equal(bound.status, 204);
    }
  });
  after(() => fleet.remove());

  /** Asks with placeholders filled in; bodies are not valid, for who may ask is decided before that. */
  const ask = async (route: string, { of }: Ruled, project: string, token: string, header = true) => {
    const [method = '', pattern = ''] = route.split(' ');
    const fills: Record<string, string> = {
      id: of === 'session' || pattern.startsWith('/v1/sessions/') ? (sessions.get(project) ?? '') : project,
      project,
      chain: `session:${sessions.get(project)}`,
      scope: 'project',
      version: '1',
    };
    if (pattern.startsWith('/v1/servers')) fills['id'] = 'srv-none';
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => fills[name] ?? 'none');
    const query = new URLSearchParams(
      of === 'query' || of === 'queryOrDefault'
        ? { project }
        : of === 'chain'
          ? { chain: `session:${sessions.get(project)}` }
          : {},
    );
    const body =
      method === 'GET' || method === 'DELETE' ? undefined : JSON.stringify({ project, surprise: 1 });
    const gone = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}?${query.toString()}`, {
      method,
      headers: {
        ...(header ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: gone.signal,
    });
    const text = streams.test(pattern) && answer.ok ? '' : await answer.text();
    gone.abort();
    const problem = text.startsWith('{"type"') ? (JSON.parse(text) as { code: string }) : null;
    return { status: answer.status, code: problem?.code ?? null };
  };

  /** What the row says, in the words of the answer. A handler may still refuse: that is let in. */
  const expected = ({ who, of }: Ruled, role: Role | 'nobody', project: string) => {
    if (role === 'nobody')
      return of === 'session' || of === 'chain' ? 'hidden' : isScoped(of) ? 'hidden' : 'refused';
    const inProject = isProjectRole(role);
    // Staff of the fleet may know what there is.
    if (!inProject) return who.includes(role) ? 'let in' : 'refused';
    if (of === 'fleet') return 'refused';
    if (of === 'somewhere') return who.includes(role) ? 'let in' : 'refused';
    if (project === 'other') return 'hidden';
    return who.includes(role) ? 'let in' : 'refused';
  };
  const isScoped = (of: Ruled['of']) => of !== 'fleet' && of !== 'somewhere';
  const seen = ({ status, code }: { status: number; code: string | null }, row: Ruled): string => {
    if (code === 'session_unknown' || code === 'project_unknown')
      return isScoped(row.of) ? 'hidden' : 'let in';
    return status === 401 ? 'no login' : code === 'forbidden' ? 'refused' : 'let in';
  };

  for (const project of ['own', 'other'])
    test(`${ruled.length} routes × ${roles.length + 1} roles, ${project} project`, async () => {
      const wrong: string[] = [];
      let asked = 0;
      for (const { route, row } of ruled)
        for (const role of [...roles, 'nobody'] as const) {
          const answer = await ask(route, row, project, logins.get(role) ?? '');
          asked += 1;
          const [is, should] = [seen(answer, row), expected(row, role, project)];
          // A handler's own refusal of somebody whom the row lets in is its business, and stricter.
          if (is !== should && !(should === 'let in' && is === 'refused' && row.who.includes(role as Role)))
            wrong.push(
              `${route} as ${role}: ${is} (${answer.status} ${answer.code}), the row says ${should}`,
            );
        }
      assert.deepEqual(wrong, []);
      assert.equal(asked, ruled.length * (roles.length + 1));
    });

  test('lists show the own project and nothing of the other', async () => {
    const list = async (path: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}`, {
        headers: { authorization: `Bearer ${logins.get('member')}` },
      });
      return answer.text();
    };
    const shown = await list('/v1/sessions');
    assert.ok(shown.includes(sessions.get('own') ?? '?') && !shown.includes(sessions.get('other') ?? '?'));
    assert.deepEqual(
      (JSON.parse(await list('/v1/projects')) as { projects: { id: string }[] }).projects.map(({ id }) => id),
      ['own'],
    );
  });

  test('a service token does what its scopes and roles both allow, and dies with its end', async () => {
    const make = (extra: object) =>
      dispatcher.call<{ id: string; token: string; code: string }>('POST', '/v1/tokens', {
        name: 'ci',
        project: 'own',
        roles: ['project_admin'],
        scopes: [...scopes],
        expiresInDays: 1,
        ...extra,
      });
    const { body: all } = await make({});
    for (const { route, row } of ruled) {
      const [method = ''] = route.split(' ');
      if (route.includes('role-bindings') || route.includes('/v1/tokens')) continue;
      const without = await make({
        scopes: scopes.filter((scope) => scope !== scopeOf(row.area, method)),
      });
      const answer = await ask(route, row, 'own', without.body.token);
      assert.equal(answer.code, 'forbidden', `${route} without ${scopeOf(row.area, method)}`);
    }
    const get = (token: string, path = '/v1/sessions') =>
      fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
    assert.equal((await get(all.token)).status, 200);
    assert.equal((await get(all.token, `/v1/sessions/${sessions.get('other')}`)).status, 404);
    const kept = await fleet.sql<{ line: string }>('SELECT service_tokens::text AS line FROM service_tokens');
    assert.ok(kept.every(({ line }) => !line.includes(all.token.slice(4))));
    await fleet.sql(`UPDATE service_tokens SET expires_at = now() WHERE id = $1`, [all.id]);
    assert.equal((await get(all.token)).status, 401);
    const { body: second } = await make({});
    assert.equal((await dispatcher.call('DELETE', `/v1/tokens/${second.id}`)).status, 204);
    assert.equal((await get(second.token)).status, 401);
    assert.equal((await make({ roles: ['auditor'] })).body.code, 'forbidden');
    // What a token made would outlive it, and the access of its person.
    const handedOn = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${(await make({})).body.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'child',
        project: 'own',
        roles: ['project_admin'],
        scopes: ['sessions:read'],
        expiresInDays: 366,
      }),
    });
    assert.equal(handedOn.status, 403);
    assert.match(((await handedOn.json()) as { detail: string }).detail, /is a program.*by a person/);
    const { body: older } = await make({});
    assert.equal((await get(older.token)).status, 200);
    await fleet.sql(`UPDATE service_tokens SET created_by = 'token:tok_x' WHERE id = $1`, [older.id]);
    assert.equal((await get(older.token)).status, 401, 'one that a token made before');
    // Nobody hands on more than they have.
    const asAdmin = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${logins.get('project_admin')}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'up',
        project: 'own',
        roles: ['approver'],
        scopes: ['sessions:read'],
        expiresInDays: 1,
      }),
    });
    assert.equal(asAdmin.status, 403);
  });

  test('whoever administers a project cannot become an administrator, nor bind in another project', async () => {
    const bind = async (role: string, project: string) =>
      (
        await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/role-bindings`, {
          method: 'PUT',
          headers: {
            authorization: `Bearer ${logins.get('project_admin')}`,
            'content-type': 'application/json',
            'if-match': '"0"',
          },
          body: JSON.stringify({ kind: 'person', principal: 'project_admin', role, project }),
        })
      ).status;
    assert.equal(await bind('approver', 'own'), 204);
    assert.equal(await bind('approver', 'other'), 404);
    assert.equal(await bind('administrator', '*'), 403);
    assert.equal(await bind('administrator', 'own'), 400);
    await fleet.sql(`DELETE FROM role_bindings WHERE kind = 'person'`);
  });

  test('without a login every route refuses; too many failures are slowed down, recorded, and spare valid logins', async () => {
    const statuses: number[] = [];
    for (const { route, row } of ruled) statuses.push((await ask(route, row, 'own', '', false)).status);
    assert.ok(statuses.every((status) => status === 401 || status === 429));
    assert.equal(statuses.filter((status) => status === 401).length <= failuresPerWindow, true);
    const late = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/me`);
    assert.equal(late.status, 429);
    assert.match(late.headers.get('retry-after') ?? '', /^\d+$/);
    const known = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/me`, {
      headers: { authorization: `Bearer ${logins.get('member')}` },
    });
    assert.deepEqual(((await known.json()) as { projects: object }).projects, { own: ['member'] });
    await dispatcher.stop();
    const refused = await fleet.sql<{ count: number }>(
      `SELECT (convert_from(body, 'UTF8')::jsonb -> 'body' ->> 'count')::int AS count
       FROM audit_entries WHERE type = 'login.refused' ORDER BY seq`,
    );
    const counted = refused.reduce((sum, { count }) => sum + count, 0);
    // Three of the tokens' test before this, all of these, and the one that was late.
    assert.equal(counted, statuses.length + 1 + 3);
    assert.ok(refused.length <= 3, `${refused.length} entries for ${counted} failures`);
  });
});
