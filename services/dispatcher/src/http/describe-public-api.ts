import { pino } from 'pino';
import { createNewId } from '@lemniscate/shared/id.ts';
import { createApp } from './app.ts';
import { registerPublicRoutes } from './serve.ts';
import type { PublicDeps } from './serve.ts';

/** What `/openapi.json` says, without a running service: nothing is called, routes only keep what they are given. */
export async function describePublicApi(): Promise<object> {
  const app = await createApp({
    title: 'Lemniscate',
    logger: pino({ level: 'silent' }),
    newId: createNewId(),
    bodyLimit: 1024,
    tls: null,
  });
  try {
    registerPublicRoutes(app, {} as PublicDeps);
    await app.ready();
    return app.swagger();
  } finally {
    await app.close();
  }
}
