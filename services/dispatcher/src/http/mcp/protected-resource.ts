import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { App } from '../app.ts';

/** Path of the MCP endpoint below the public address. */
export const mcpPath = '/mcp';
const metadataPath = '/.well-known/oauth-protected-resource';

export interface ProtectedResourceDeps {
  readonly publicUrl: () => URL;
  /** Address of the organisation's issuer; null where people log in at their own machine. */
  readonly issuerUrl: string | null;
  /** What a client has to ask the issuer for: many issuers give no token at all for nothing. */
  readonly scopes: readonly string[];
}

/** The audience that a token for the MCP endpoint names: the endpoint's own address (RFC 8707). */
export function mcpResource(publicUrl: URL): string {
  return new URL(mcpPath, publicUrl).href;
}

const metadataSchema = z.object({
  resource: z.string(),
  resource_name: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
});

/** RFC 9728: where a client of the MCP endpoint gets a token. Open to all, at both places where clients look. */
export function registerProtectedResource(app: App, deps: ProtectedResourceDeps): void {
  for (const path of [metadataPath, `${metadataPath}${mcpPath}`])
    app.get(path, { schema: { response: { 200: metadataSchema } } }, () => {
      if (deps.issuerUrl === null)
        throw new CodedError(
          'not_found',
          'This fleet has no issuer of tokens. Send "Authorization: Bearer TOKEN" with a service token: lemniscate tokens.',
        );
      return {
        resource: mcpResource(deps.publicUrl()),
        resource_name: 'Lemniscate',
        authorization_servers: [deps.issuerUrl],
        scopes_supported: [...deps.scopes],
        bearer_methods_supported: ['header'],
      };
    });

  app.addHook('onSend', async (request, reply) => {
    if (request.routeOptions.url !== mcpPath) return;
    const challenge = challengeOf(reply.statusCode, request.headers.authorization !== undefined);
    if (challenge === null) return;
    const metadata = new URL(`${metadataPath}${mcpPath}`, deps.publicUrl()).href;
    const scope = deps.issuerUrl === null ? '' : `, scope="${deps.scopes.join(' ')}"`;
    void reply.header('www-authenticate', `Bearer ${challenge}resource_metadata="${metadata}"${scope}`);
  });
}

function challengeOf(status: number, hadToken: boolean): string | null {
  if (status === 403) return 'error="insufficient_scope", ';
  if (status !== 401) return null;
  return hadToken ? 'error="invalid_token", ' : '';
}
