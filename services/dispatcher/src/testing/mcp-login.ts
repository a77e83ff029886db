import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { createTestBrowser } from './test-browser.ts';
import { mcpRedirect } from './test-issuer.ts';

/** The official client's side of the MCP authorization, with a person at its browser. */
export interface McpLogin extends OAuthClientProvider {
  /** Addresses that the person's browser was sent to, the newest last. */
  readonly opened: URL[];
  /** What the person's browser brought back, once they have logged in and agreed. */
  consent(login: string): Promise<string>;
  /** The tokens as they are now. */
  held(): OAuthTokens | undefined;
  /** As if the access token had expired: it is not taken any more, the rest stays. */
  spoil(): void;
}

/** @param clientId of a client that the issuer knows; absent: it makes itself known */
export function createMcpLogin(clientId?: string): McpLogin {
  const opened: URL[] = [];
  let client: OAuthClientInformationMixed | undefined =
    clientId === undefined ? undefined : { client_id: clientId };
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  return {
    opened,
    redirectUrl: mcpRedirect,
    clientMetadata: {
      client_name: 'A program',
      redirect_uris: [mcpRedirect],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => client,
    saveClientInformation: (information) => {
      client = information;
    },
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved;
    },
    redirectToAuthorization: (address) => {
      opened.push(address);
    },
    saveCodeVerifier: (made) => {
      verifier = made;
    },
    codeVerifier: () => verifier,
    held: () => tokens,
    spoil: () => {
      if (tokens !== undefined) tokens = { ...tokens, access_token: 'a-token-that-has-ended' };
    },
    consent: async (login) => {
      const browser = createTestBrowser();
      const back = (address: URL): boolean => address.href.startsWith(mcpRedirect);
      let page = await browser.open(opened.at(-1)?.href ?? '', back);
      for (let step = 0; step < 5 && page.html.includes('<form') && !back(page.address); step += 1)
        page = await browser.submit(
          page,
          page.html.includes('name="login"') ? { login, password: 'x' } : {},
          back,
        );
      const code = page.address.searchParams.get('code');
      if (code === null)
        throw new Error(`no code came back: ${page.address.href} ${page.html.slice(0, 500)}`);
      return code;
    },
  };
}
