import { ask } from '@lemniscate/api/client.ts';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiClient } from './api-client.ts';

/** The key of a server that is being set up: the private half never leaves its machine. */
export interface ServerKey {
  readonly publicFile: string;
  readonly publicKeyPem: string;
}

/** Reads the server's key in the folder, or makes it. */
export async function ownServerKey(folder: string): Promise<ServerKey> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'key.pem');
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  }
  const publicKeyPem = createPublicKey(await readFile(file))
    .export({ type: 'spki', format: 'pem' })
    .toString();
  const publicFile = join(folder, 'key.pem.pub');
  await writeFile(publicFile, publicKeyPem);
  return { publicFile, publicKeyPem };
}

export interface JoinRequest {
  readonly fleet: string;
  readonly token: string;
  readonly address: string;
  readonly capacity: number;
  readonly folder: string;
  readonly key: ServerKey;
}

/**
 * Hands a join token in and keeps what comes back.
 * @returns the server's name, and the variables that its agent server is started with
 * @throws CodedError `unauthenticated` for a token that does not let this key in
 */
export async function joinServer(
  request: JoinRequest,
): Promise<{ readonly serverId: string; readonly variables: Readonly<Record<string, string>> }> {
  // Nobody is logged in on a new server: the token is what lets it in.
  const client = createApiClient({ url: request.fleet, token: '' });
  const joined = await ask(
    client.api.POST('/v1/server-invitations/use', {
      body: {
        token: request.token,
        publicKeyPem: request.key.publicKeyPem,
        url: request.address,
        capacity: request.capacity,
      },
    }),
  );
  const file = (name: string): string => join(request.folder, name);
  await writeFile(file('ca.pem'), joined.caPem);
  await writeFile(file('certificate.pem'), joined.certificatePem);
  return {
    serverId: joined.serverId,
    variables: {
      LEMNISCATE_TLS_CA: file('ca.pem'),
      LEMNISCATE_TLS_CERT: file('certificate.pem'),
      LEMNISCATE_TLS_KEY: file('key.pem'),
      LEMNISCATE_DISPATCHER_URL: joined.internalUrl,
      LEMNISCATE_SERVER_PORT: new URL(request.address).port || '443',
      LEMNISCATE_CAPACITY: String(request.capacity),
    },
  };
}
