import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { callTool, connectMcp } from './testing/mcp-client.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { startTestIssuer } from './testing/test-issuer.ts';
import type { TestIssuer } from './testing/test-issuer.ts';

const audience = 'https://api.example.org';
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
      /^Bearer error="invalid_token", resource_metadata=/,
    );
  });
});
