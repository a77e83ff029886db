import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';
import type { JWK } from 'oidc-provider';

/** Somebody who can log in at the test issuer, by subject. */
export interface TestAccount {
  readonly name: string;
  readonly email: string;
  readonly groups: readonly string[];
}

/** A real OpenID Connect provider on loopback, whose forms a test fills in. */
export interface TestIssuer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A program's own token for the resource, as a JWT (RFC 8707); its subject is `robot`. */
  tokenFor(resource: string): Promise<string>;
  /** Makes a new signing key; the old one is gone. */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

/** Where the program on somebody's machine is sent back to. */
export const mcpRedirect = 'http://127.0.0.1:2/callback';

export async function startTestIssuer(options: {
  readonly accounts: Readonly<Record<string, TestAccount>>;
  readonly redirectUris: () => string[];
}): Promise<TestIssuer> {
  let handle: ReturnType<Provider['callback']> | null = null;
  const server = createServer((request, response) => void handle?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ['lemniscate', 'test-secret-of-the-client'];
  let rotations = 0;

  const rotateKeys = async (): Promise<void> => {
    rotations += 1;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: `k${rotations}`, alg: 'RS256', use: 'sig' } as JWK;
    const provider = new Provider(url, {
      jwks: { keys: [key] },
      cookies: { keys: ['test'] },
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          token_endpoint_auth_method: 'client_secret_post',
          grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
          response_types: ['code'],
          redirect_uris: options.redirectUris(),
        },
        {
          client_id: 'robot',
          client_secret: clientSecret,
          token_endpoint_auth_method: 'client_secret_post',
          grant_types: ['client_credentials'],
          response_types: [],
          redirect_uris: [],
        },
        // A program on somebody's machine: no secret, so its codes are bound to a verifier (PKCE).
        {
          client_id: 'mcp-client',
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          redirect_uris: [mcpRedirect],
        },
      ],
      pkce: { required: (_context, { clientId: id }) => id === 'mcp-client' },
      issueRefreshToken: (_context, { clientId: id }) => Promise.resolve(id === 'mcp-client'),
      extraTokenClaims: (_context, token) => {
        const account = 'accountId' in token ? options.accounts[token.accountId ?? ''] : undefined;
        return account === undefined ? {} : { name: account.name, groups: [...account.groups] };
      },
      claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      features: {
        deviceFlow: { enabled: true },
        devInteractions: { enabled: true },
        clientCredentials: { enabled: true },
        // Programs that nobody has set up make themselves known (RFC 7591).
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_context, resource) => ({
            scope: '',
            audience: resource,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      findAccount: (_context, sub) => {
        const account = options.accounts[sub];
        return account === undefined
          ? undefined
          : {
              accountId: sub,
              claims: () => ({ sub, ...account, groups: [...account.groups], email_verified: true }),
            };
      },
    });
    handle = provider.callback();
  };
  await rotateKeys();
  return {
    url,
    clientId,
    clientSecret,
    rotateKeys,
    tokenFor: async (resource) => {
      const answer = await fetch(`${url}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: 'robot',
          client_secret: clientSecret,
          resource,
        }),
      });
      const { access_token: token } = (await answer.json()) as { access_token?: string };
      if (token === undefined) throw new Error(`the issuer gave no token (${answer.status})`);
      return token;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
