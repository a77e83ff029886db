import type { McpServer } from '@lemniscate/shared/agents/mcp-server.ts';
import type { CredentialStore } from '../ports/credential-store.ts';
import type { RemoteServer } from '../ports/remote-servers.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * A server with its secret opened, for one use.
 * @throws CodedError `credential_missing`, `storage_failed`
 */
export async function reachServer(
  tx: Transaction,
  credentials: CredentialStore,
  agent: string,
  { name, url, login }: McpServer,
): Promise<RemoteServer> {
  if (login === undefined) return { name, url, login: { kind: 'none' } };
  const row = login.reference.slice('vault:'.length);
  const secret = (await credentials.open(tx, { kind: 'agent', id: agent }, [row]))[row] ?? '';
  if (login.kind === 'token') return { name, url, login: { kind: 'token', token: secret } };
  const { clientId, issuer, scope } = login;
  return { name, url, login: { kind: 'oauth', clientId, clientSecret: secret, issuer, scope } };
}
