import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { callTool, connectMcp } from './testing/mcp-client.ts';
import { createMcpLogin } from './testing/mcp-login.ts';
import type { McpLogin } from './testing/mcp-login.ts';
import { startTcpProxy } from './testing/tcp-proxy.ts';
import type { TcpProxy } from './testing/tcp-proxy.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { startTestIssuer } from './testing/test-issuer.ts';
import type { TestIssuer } from './testing/test-issuer.ts';

const audience = 'https://api.example.org';
const accounts = {
  ada: { name: 'Ada', email: 'ada@example.org', groups: ['platform'] },
  bob: { name: 'Bob', email: 'bob@example.org', groups: [] },
};
const publicUrl = 'http://127.0.0.1:1';

describe('tokens of the issuer, and whom they are for', () => {
  let fleet: TestFleet;
  let issuer: TestIssuer;
  let dispatcher: TestDispatcher;
  let origin = '';
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    issuer = await startTestIssuer({ accounts: {}, redirectUris: () => [`${publicUrl}/v1/login/callback`] });
    dispatcher = await fleet.startDispatcher({
      LEMNISCATE_LOCAL_LOGIN: '',
      LEMNISCATE_OIDC_ISSUER: issuer.url,
      LEMNISCATE_OIDC_CLIENT_ID: issuer.clientId,
      LEMNISCATE_OIDC_CLIENT_SECRET: issuer.clientSecret,
      LEMNISCATE_OIDC_AUDIENCE: audience,
      LEMNISCATE_ADMINISTRATORS: 'person:robot',
      LEMNISCATE_PUBLIC_URL: publicUrl,
    });
    origin = `http://127.0.0.1:${dispatcher.publicPort}`;
  });
  after(async () => {
    await fleet.remove();
    await issuer.stop();
  });
  const me = (token: string) => fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } });

  test('the metadata names the endpoint and its issuer', async () => {
    for (const path of ['', '/mcp']) {
      const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
      assert.equal(answer.status, 200);
      assert.deepEqual(await answer.json(), {
        resource: `${publicUrl}/mcp`,
        resource_name: 'Lemniscate',
        authorization_servers: [issuer.url],
        scopes_supported: ['openid', 'profile', 'email'],
        bearer_methods_supported: ['header'],
      });
    }
  });

  test('a token for the API opens both, one for the MCP endpoint only that, one for somebody else neither', async () => {
    const [forApi, forMcp, forOthers] = await Promise.all([
      issuer.tokenFor(audience),
      issuer.tokenFor(`${publicUrl}/mcp`),
      issuer.tokenFor('https://other.example.org'),
    ]);
    assert.equal((await me(forApi)).status, 200);
    assert.equal((await me(forMcp)).status, 401);
    assert.equal((await me(forOthers)).status, 401);
    for (const token of [forApi, forMcp]) {
      const client = await connectMcp(`${origin}/mcp`, token);
      assert.equal((await callTool(client, 'list_sessions', {})).isError, false);
      await client.close();
    }
    const refused = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${forOthers}`, 'content-type': 'application/json' },
      body: '{}',
    });
    assert.equal(refused.status, 401);
    assert.match(
      refused.headers.get('www-authenticate') ?? '',
      /^Bearer error="invalid_token", resource_metadata="[^"]+", scope="openid profile email"$/,
    );
  });
});

describe('the authorization of MCP, by the official client and a real issuer', () => {
  let fleet: TestFleet;
  let issuer: TestIssuer;
  let proxy: TcpProxy;
  let url: URL;
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    proxy = await startTcpProxy(1);
    const origin = `http://127.0.0.1:${proxy.port}`;
    url = new URL('/mcp', origin);
    issuer = await startTestIssuer({ accounts, redirectUris: () => [`${origin}/v1/login/callback`] });
    const dispatcher = await fleet.startDispatcher({
      LEMNISCATE_LOCAL_LOGIN: '',
      LEMNISCATE_OIDC_ISSUER: issuer.url,
      LEMNISCATE_OIDC_CLIENT_ID: issuer.clientId,
      LEMNISCATE_OIDC_CLIENT_SECRET: issuer.clientSecret,
      LEMNISCATE_ADMINISTRATORS: 'group:platform',
      LEMNISCATE_PUBLIC_URL: origin,
    });
    proxy.pointTo(dispatcher.publicPort);
  });
  after(async () => {
    await fleet.remove();
    proxy.close();
    await issuer.stop();
  });

  const speak = async (authProvider: McpLogin): Promise<Client> => {
    const client = new Client({ name: 'a program', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
    return client;
  };
  /** Is refused, finds the issuer by the refusal alone, has the person log in and trades the code. */
  const logIn = async (login: McpLogin, person: string): Promise<void> => {
    await assert.rejects(speak(login), UnauthorizedError);
    const asked = login.opened.at(-1);
    assert.equal(asked?.origin, issuer.url);
    assert.equal(asked.searchParams.get('resource'), url.href);
    assert.equal(asked.searchParams.get('code_challenge_method'), 'S256');
    const transport = new StreamableHTTPClientTransport(url, { authProvider: login });
    await transport.finishAuth(await login.consent(person));
  };
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

  for (const [what, known] of [
    ['that the issuer knows', 'mcp-client'],
    ['that makes itself known', undefined],
  ] as const)
    test(`a program ${what} finds its way from the refusal to a token for this endpoint, and renews it`, async () => {
      const login = createMcpLogin(known);
      await logIn(login, 'ada');
      const claims = claimsOf(login.held()?.access_token ?? '');
      assert.deepEqual([claims['aud'], claims['sub']], [url.href, 'ada']);
      const client = await speak(login);
      assert.equal((await callTool(client, 'list_sessions', {})).isError, false);
      await client.close();

      // The token is for this endpoint and opens nothing else of the API.
      const elsewhere = await fetch(new URL('/v1/me', url), {
        headers: { authorization: `Bearer ${login.held()?.access_token}` },
      });
      assert.equal(elsewhere.status, 401);
      // The issuer gives this client alone what renews a token.
      if (known === undefined) return;
      const opened = login.opened.length;
      login.spoil();
      const again = await speak(login);
      assert.equal((await callTool(again, 'list_sessions', {})).isError, false);
      assert.equal(login.opened.length, opened, 'nobody was asked again');
      await again.close();
    });

  test('whoever logs in so has their own roles and no more', async () => {
    const login = createMcpLogin('mcp-client');
    await logIn(login, 'bob');
    const client = await speak(login);
    const refused = await callTool(client, 'list_sessions', {});
    assert.match(refused.text, /^forbidden/);
    await client.close();
  });
});
