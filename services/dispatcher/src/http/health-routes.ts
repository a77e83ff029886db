import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { App } from './app.ts';

export interface HealthDeps {
  /** Name → whether the part answers; each rejects with a sentence for the operator. */
  readonly parts: Readonly<Record<string, () => Promise<unknown>>>;
  readonly timeoutMs: number;
}

const okSchema = z.object({ status: z.literal('ok') });

/** Liveness, readiness and the description of the API: open to all, telling nothing about anybody. */
export function registerHealthRoutes(app: App, deps: HealthDeps): void {
  app.get('/healthz', { schema: { response: { 200: okSchema } } }, () => ({ status: 'ok' as const }));
  app.get('/readyz', { schema: { response: { 200: okSchema } } }, async () => {
    const parts = await Promise.all(
      Object.entries(deps.parts).map(async ([name, check]) => ({
        name,
        ready: await answersWithin(check, deps.timeoutMs),
      })),
    );
    const missing = parts.filter((part) => !part.ready).map((part) => part.name);
    if (missing.length > 0)
      throw new CodedError('unavailable', `Not ready: ${missing.join(', ')} cannot be reached.`, { missing });
    return { status: 'ok' as const };
  });
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    void reply.header('content-type', 'application/json');
    return JSON.stringify(app.swagger());
  });
}

async function answersWithin(check: () => Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const answered = check().then(
    () => true,
    () => false,
  );
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
