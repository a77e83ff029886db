import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import type { JWK } from 'jose';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import { createTokenVerifier } from './token-verifier.ts';

const issuer = 'https://issuer.example';
const audience = 'lemniscate';

describe('tokens of an issuer', async () => {
  let keys: JWK[] = [];
  let asked = 0;
  let healthy = true;
  let endless = false;
  const server = createServer((_request, response) => {
    asked += 1;
    if (endless) return sendWithoutEnd(response);
    response.statusCode = healthy ? 200 : 500;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  });
  let verify: ReturnType<typeof createTokenVerifier>;
  const make = async (kid: string) => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    return { ...pair, kid, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256', use: 'sig' } };
  };
  const first = await make('first');
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    keys = [first.jwk];
    verify = createTokenVerifier({
      issuer,
      keysUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`),
      skewSeconds: 60,
      keysCooldownMs: 0,
    });
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const now = () => Math.floor(Date.now() / 1_000);
  const sign = (claims: Record<string, unknown> = {}, by = first, kid = by.kid) => {
    const all = { sub: 'ada', iss: issuer, aud: audience, iat: now(), exp: now() + 300, ...claims };
    const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new SignJWT(set).setProtectedHeader({ alg: 'ES256', kid }).sign(by.privateKey);
  };
  const refused = (token: string, code: ErrorCode = 'unauthenticated') =>
    assert.rejects(verify(token, audience, 'id'), (error) => isCodedError(error, code));

  test('one that fits is taken, also with clocks apart by less than the skew', async () => {
    assert.equal((await verify(await sign(), audience, 'id')).sub, 'ada');
    await verify(await sign({ exp: now() - 40 }), audience, 'id');
    await verify(await sign({ nbf: now() + 40, iat: now() + 40 }), audience, 'id');
  });

  test('each check refuses what it is there for', async () => {
    await refused(await sign({ exp: now() - 90 }));
    await refused(await sign({ nbf: now() + 90 }));
    await refused(await sign({ iss: 'https://issuer.example/' }));
    await refused(await sign({ aud: 'somebody-else' }));
    await refused(await sign({ aud: [audience, 'b'], azp: 'b' }));
    await refused(await sign({ aud: [audience, 'b'] }));
    await refused(await sign({ azp: 'b' }));
    for (const missing of ['sub', 'exp', 'iat', 'iss', 'aud'])
      await refused(await sign({ [missing]: undefined }));
    await refused(`${await sign()}x`);
    await refused('a.b.c');
  });

  test('an access token is for its audience, whichever client of the issuer has asked for it', async () => {
    // as Keycloak and Auth0 make them
    const token = await sign({ aud: [audience, 'account'], azp: 'the-console' });
    assert.equal((await verify(token, audience, 'access')).sub, 'ada');
    await refused(token);
    const elsewhere = verify(await sign({ aud: 'account', azp: audience }), audience, 'access');
    await assert.rejects(elsewhere, (error) => isCodedError(error, 'unauthenticated'));
  });

  test('no signature, a shared secret made of the public key, a key of somebody else', async () => {
    const claims = { sub: 'ada', iat: now(), exp: now() + 300 };
    await refused(new UnsecuredJWT(claims).setIssuer(issuer).setAudience(audience).encode());
    const publicKey = new TextEncoder().encode(await exportSPKI(first.publicKey));
    await refused(
      await new SignJWT({ ...claims, iss: issuer, aud: audience })
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(publicKey),
    );
    await refused(await sign({}, await make('other'), 'first'));
  });

  test('a new key is found, an old one ends with the set, and an unknown one is not asked for without end', async () => {
    const second = await make('second');
    await refused(await sign({}, second));
    keys = [first.jwk, second.jwk];
    assert.equal((await verify(await sign({}, second), audience, 'id')).sub, 'ada');
    keys = [second.jwk];
    const third = await make('third');
    await refused(await sign({}, third));
    await refused(await sign({}, first));
    const patient = createTokenVerifier({
      issuer,
      keysUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`),
      skewSeconds: 60,
      keysCooldownMs: 60_000,
    });
    const before = asked;
    for (let turn = 0; turn < 20; turn += 1)
      await assert.rejects(patient(await sign({}, third), audience, 'id'));
    assert.ok(asked - before <= 1, `${asked - before} requests for keys`);
  });

  test('while the keys cannot be had nobody is let in, and it is not the login’s fault', async () => {
    healthy = false;
    const fresh = createTokenVerifier({
      issuer,
      keysUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`),
      skewSeconds: 60,
      keysCooldownMs: 0,
    });
    await assert.rejects(fresh(await sign(), audience, 'id'), (error) =>
      isCodedError(error, 'service_unreachable'),
    );
  });

  test('keys that never end are left at their bound and not at the deadline', async () => {
    endless = true;
    healthy = true;
    const fresh = createTokenVerifier({
      issuer,
      keysUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`),
      skewSeconds: 60,
      keysCooldownMs: 0,
    });
    sent = 0;
    await assert.rejects(fresh(await sign(), audience, 'id'), (error) =>
      isCodedError(error, 'service_unreachable'),
    );
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
  });
});

let sent = 0;

/** Blanks before a document are JSON for as long as they come. */
function sendWithoutEnd(response: ServerResponse): void {
  const write = (): void => {
    sent += 65_536;
    response.write(' '.repeat(65_536));
  };
  response.on('drain', write);
  write();
}
