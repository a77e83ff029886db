import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { z } from 'zod';
import type { begunDeviceLoginSchema, Me, newLoginSchema } from '@lemniscate/shared/api/identity.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { loginsBegunPerMinute } from './http/rate-limit.ts';
import { createTestBrowser } from './testing/test-browser.ts';
import type { Page, TestBrowser } from './testing/test-browser.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { startTestIssuer } from './testing/test-issuer.ts';
import type { TestIssuer } from './testing/test-issuer.ts';

const accounts = {
  ada: { name: 'Ada', email: 'ada@example.org', groups: ['platform', 'shop'] },
  bob: { name: 'Bob', email: 'bob@example.org', groups: ['shop'] },
  'token:tok_1': { name: 'Mallory', email: 'mallory@example.org', groups: ['platform'] },
};

interface ApiReply<Body> {
  readonly status: number;
  readonly body: Body & Problem;
}

describe('logins of an OpenID Connect issuer', () => {
  let fleet: TestFleet;
  let issuer: TestIssuer;
  let dispatcher: TestDispatcher;
  let origin = '';
  let variables: Record<string, string> = {};
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    issuer = await startTestIssuer({
      accounts,
      redirectUris: () => ['http://127.0.0.1:1/v1/login/callback'],
    });
    variables = {
      LEMNISCATE_LOCAL_LOGIN: '',
      LEMNISCATE_OIDC_ISSUER: issuer.url,
      LEMNISCATE_OIDC_CLIENT_ID: issuer.clientId,
      LEMNISCATE_OIDC_CLIENT_SECRET: issuer.clientSecret,
      LEMNISCATE_OIDC_KEYS_COOLDOWN_MS: '0',
      LEMNISCATE_ADMINISTRATORS: 'group:platform',
      // The issuer knows this address; the test carries the browser's answer over to the port that was free.
      LEMNISCATE_PUBLIC_URL: 'http://127.0.0.1:1',
    };
    dispatcher = await fleet.startDispatcher(variables);
    origin = `http://127.0.0.1:${dispatcher.publicPort}`;
  });
  after(async () => {
    await fleet.remove();
    await issuer.stop();
  });

  const api = async <Body>(path: string, init: RequestInit = {}): Promise<ApiReply<Body>> => {
    const answer = await fetch(`${origin}${path}`, init);
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as Body & Problem };
  };
  const me = (token: string) => api<Me>('/v1/me', { headers: { authorization: `Bearer ${token}` } });

  /** Fills in the issuer's forms until it sends the browser back, or shows no form any more. */
  const consent = async (browser: TestBrowser, page: Page, login: string): Promise<Page> => {
    const back = (address: URL) => address.port === '1';
    let shown = page;
    for (let step = 0; step < 5 && shown.html.includes('<form') && !back(shown.address); step += 1)
      shown = await browser.submit(
        shown,
        shown.html.includes('name="login"') ? { login, password: 'x' } : {},
        back,
      );
    return shown;
  };
  const logIn = async (login: string, returnTo = '/') => {
    const browser = createTestBrowser();
    const page = await browser.open(
      `${origin}/v1/login?returnTo=${encodeURIComponent(returnTo)}`,
      (address) => address.port === '1',
    );
    const back = await consent(browser, page, login);
    assert.equal(back.address.port, '1', back.html.slice(0, 500));
    const callback = `${origin}/v1/login/callback${back.address.search}`;
    const cookies = [...browser.cookies].filter(([key]) => key.startsWith(new URL(origin).host));
    const cookie = cookies.map(([key, value]) => `${key.split(' ')[1]}=${value}`).join('; ');
    return { callback, cookie };
  };
  const finish = async ({ callback, cookie }: { callback: string; cookie: string }) => {
    const answer = await fetch(callback, { redirect: 'manual', headers: { cookie } });
    return { answer, set: answer.headers.getSetCookie().join('\n') };
  };

  test('in the browser: the cookie is out of reach of scripts, and groups give roles', async () => {
    const begun = await logIn('ada', '/sessions/s_1');
    const { answer, set } = await finish(begun);
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get('location'), '/sessions/s_1');
    const token = /(?:^|\n)lemniscate=([^;]+);/.exec(set)?.[1];
    assert.ok(token !== undefined && /HttpOnly/i.test(set) && /SameSite=Lax/i.test(set), set);
    const seen = await api<Me>('/v1/me', { headers: { cookie: `lemniscate=${token}` } });
    assert.deepEqual(
      [seen.body.subject, seen.body.name, seen.body.kind, seen.body.roles],
      ['ada', 'Ada', 'human', ['administrator']],
    );

    // A page of somebody else cannot spend the cookie on a change, a page of ours can.
    const create = (headers: Record<string, string>) =>
      api('/v1/projects', {
        method: 'POST',
        headers: { cookie: `lemniscate=${token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ id: 'shop' }),
      });
    for (const foreign of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin, 'sec-fetch-site': 'cross-site' },
      { origin, 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[])
      assert.equal((await create(foreign)).status, 403, JSON.stringify(foreign));
    assert.equal((await create({ origin, 'sec-fetch-site': 'same-origin' })).status, 201);

    // The same answer does not log in twice, nor in another browser.
    assert.equal((await finish(begun)).answer.status, 401);
    const stolen = await logIn('ada');
    assert.equal((await finish({ ...stolen, cookie: '' })).answer.status, 401);
    const other = await logIn('bob');
    assert.equal((await finish({ callback: stolen.callback, cookie: other.cookie })).answer.status, 401);

    const out = await api('/v1/logout', {
      method: 'POST',
      headers: { cookie: `lemniscate=${token}`, origin },
    });
    assert.equal(out.status, 204);
    assert.equal((await me(token)).status, 401);
  });

  test('it returns to this origin and to no other', async () => {
    for (const hostile of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      'javascript:alert(1)',
    ]) {
      const { answer } = await finish(await logIn('bob', hostile));
      assert.equal(answer.headers.get('location'), '/', hostile);
    }
  });

  const device = async (login: string) => {
    const begun = await api<z.infer<typeof begunDeviceLoginSchema>>('/v1/login/device', { method: 'POST' });
    assert.equal(begun.status, 200, JSON.stringify(begun.body));
    const ask = () =>
      api<z.infer<typeof newLoginSchema>>('/v1/login/device/finish', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ handle: begun.body.handle }),
      });
    const confirm = async () => {
      const browser = createTestBrowser();
      const page = await browser.open(begun.body.verificationUriComplete ?? '');
      const shown = await consent(browser, page, login);
      return shown.html;
    };
    return { ask, confirm };
  };

  test('with a code on another device: pending until the person confirms, then one login', async () => {
    const { ask, confirm } = await device('bob');
    assert.deepEqual([(await ask()).status, (await ask()).body.code], [425, 'login_pending']);
    await confirm();
    const login = await ask();
    assert.equal(login.status, 200, JSON.stringify(login.body));
    assert.deepEqual((await me(login.body.token)).body.roles, []);
    assert.equal((await ask()).status, 401);
    const kept = await fleet.sql<{ line: string }>(
      'SELECT logins::text || login_flows::text AS line FROM logins, login_flows',
    );
    assert.ok(kept.every(({ line }) => !line.includes(login.body.token)));

    // A binding counts from the next request on.
    await fleet.sql(
      `INSERT INTO role_bindings (kind, principal, role, project_id, bound_by) VALUES ('group', 'shop', 'approver', 'shop', 'ada')`,
    );
    assert.deepEqual((await me(login.body.token)).body.projects, { shop: ['approver'] });

    await fleet.sql(`INSERT INTO revoked_users (subject, revoked_by) VALUES ('bob', 'ada')`);
    assert.equal((await me(login.body.token)).body.code, 'login_revoked');
    const again = await device('bob');
    await again.confirm();
    assert.equal((await again.ask()).body.code, 'login_revoked');
    await fleet.sql('DELETE FROM revoked_users');
  });

  test('the issuer changes its keys while we run', async () => {
    await issuer.rotateKeys();
    const { answer } = await finish(await logIn('ada'));
    assert.equal(answer.status, 302);
  });

  test('a directory cannot name somebody a service token', async () => {
    const { answer } = await finish(await logIn('token:tok_1'));
    assert.equal(answer.status, 401);
  });

  test('there is no local login beside an issuer, and the log has every login', async () => {
    assert.equal((await me(fleet.token)).status, 401);
    await assert.rejects(
      fleet.startDispatcher({ LEMNISCATE_OIDC_ISSUER: issuer.url, LEMNISCATE_OIDC_CLIENT_ID: 'x' }),
      /LEMNISCATE_LOCAL_LOGIN is for fleets without an issuer/,
    );
    const entries = await fleet.sql<{ type: string }>(
      `SELECT type FROM audit_entries WHERE type LIKE 'login.%' GROUP BY type ORDER BY type`,
    );
    assert.deepEqual(
      entries.map(({ type }) => type),
      ['login.accepted', 'login.ended', 'login.refused'],
    );
  });

  test('nobody fills the place of everybody’s logins; behind a proxy that is known each address counts for itself', async () => {
    const begin = async (at: TestDispatcher, forwarded: string) => {
      const answer = await fetch(`http://127.0.0.1:${at.publicPort}/v1/login`, {
        redirect: 'manual',
        headers: { 'x-forwarded-for': forwarded },
      });
      await answer.body?.cancel();
      return answer.status;
    };
    const times = async (count: number, at: TestDispatcher, forwarded: (turn: number) => string) => {
      const statuses: number[] = [];
      for (let turn = 0; turn < count; turn += 1) statuses.push(await begin(at, forwarded(turn)));
      return statuses;
    };
    const proxied = await fleet.startDispatcher({ ...variables, LEMNISCATE_TRUSTED_PROXIES: '127.0.0.0/8' });
    const one = await times(loginsBegunPerMinute + 1, proxied, () => '203.0.113.1');
    assert.deepEqual([one[0], one.at(-2), one.at(-1)], [302, 302, 429]);
    assert.equal(await begin(proxied, '203.0.113.2'), 302, 'another address');
    const network = await times(loginsBegunPerMinute + 1, proxied, (turn) => `2001:db8::${turn + 1}`);
    assert.equal(network.at(-1), 429, 'one IPv6 network is one caller');
    // whoever is no known proxy says of itself what it likes
    const bare = await fleet.startDispatcher(variables);
    const varied = await times(loginsBegunPerMinute + 1, bare, (turn) => `203.0.113.${turn}`);
    assert.equal(varied.at(-1), 429);
    await Promise.all([proxied.stop(), bare.stop()]);
  });

  test('while the issuer is away those who are in stay in, and nobody else is told it is their fault', async () => {
    const { set } = await finish(await logIn('ada'));
    const token = /(?:^|\n)lemniscate=([^;]+);/.exec(set)?.[1] ?? '';
    const begun = await logIn('ada');
    await issuer.stop();
    assert.equal((await me(token)).status, 200);
    assert.equal((await finish(begun)).answer.status, 503);
  });
});
