import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import type { NewId } from '@lemniscate/shared/id.ts';
import { createApp } from '../../http/app.ts';
import type { App } from '../../http/app.ts';
import { requireAgentServer, requirePerson } from '../../http/identity.ts';
import { createTestAuthority } from '../certificates.ts';

/** A listener of a test's own with the routes that the test registers. */
export interface TestApp {
  readonly port: number;
  close(): Promise<void>;
}

/** A public listener where every bearer token is its own person: `Bearer ada` is Ada, `Bearer robot` a service. */
export async function servePeople(newId: NewId, register: (app: App) => void): Promise<TestApp> {
  const app = await createApp({
    title: 'people',
    logger: pino({ level: 'silent' }),
    newId,
    bodyLimit: 64 * 1024,
    tls: null,
  });
  requirePerson(app, {
    authenticate: (token) =>
      Promise.resolve({
        subject: token ?? 'nobody',
        name: token ?? 'nobody',
        kind: token === 'robot' ? 'automation' : 'human',
        roles: token === 'robot' ? [] : ['approver'],
      }),
  });
  register(app);
  return listen(app);
}

/** What a caller needs to show a certificate. */
export interface TestIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** An internal listener over real mutual TLS, with the certificates of two agent servers. */
export async function serveServers(
  newId: NewId,
  register: (app: App) => void,
): Promise<TestApp & { readonly servers: Readonly<Record<'a' | 'b', TestIdentity>> }> {
  const authority = await createTestAuthority();
  const identity = async (name: string): Promise<TestIdentity> => {
    const files = await authority.issue(`spiffe://lemniscate/${name}`);
    const [ca, cert, key] = await Promise.all(
      [authority.ca, files.cert, files.key].map((file) => readFile(file, 'utf8')),
    );
    return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' };
  };
  const app = await createApp({
    title: 'servers',
    logger: pino({ level: 'silent' }),
    newId,
    bodyLimit: 64 * 1024,
    tls: { ...(await identity('dispatcher/d')), clientCertificates: true },
  });
  requireAgentServer(app);
  register(app);
  const servers = { a: await identity('agent-server/server-a'), b: await identity('agent-server/server-b') };
  const listening = await listen(app);
  return {
    ...listening,
    servers,
    close: async () => {
      await listening.close();
      await authority.remove();
    },
  };
}

async function listen(app: App): Promise<TestApp> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, close: () => app.close() };
}
