import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sendProblems } from './problems.ts';
import { requireRole } from './peer-identity.ts';
import { registerHealthRoutes } from './health-routes.ts';
import { registerMetricsRoutes } from './metrics-routes.ts';
import { registerSessionRoutes } from './session-routes.ts';
import { registerStatusRoutes } from './status-routes.ts';
import type { RouteDeps } from './route-deps.ts';

/** Orders carry an instruction and a system prompt, nothing large. Bytes. */
const bodyLimit = 4 * 1024 * 1024;

/** HTTPS that speaks only to holders of the fleet's certificates; sessions are the dispatcher's business alone. */
export function createServer(
  tls: { readonly ca: string; readonly cert: string; readonly key: string },
  deps: RouteDeps,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    https: {
      ca: tls.ca,
      cert: tls.cert,
      key: tls.key,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    },
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    forceCloseConnections: true,
    // The dispatcher keeps its connections; longer than its own 60 s, so that it is never the server who hangs up first.
    keepAliveTimeout: 90_000,
    requestTimeout: 30_000,
  });
  app.setValidatorCompiler(validatorCompiler);
  sendProblems(app);
  void app.register(async (ours) => {
    ours.addHook('onRequest', requireRole(['dispatcher', 'agent-server', 'audit-exporter', 'monitor']));
    registerHealthRoutes(ours, deps);
  });
  void app.register(async (monitors) => {
    monitors.addHook('onRequest', requireRole(['dispatcher', 'monitor']));
    registerMetricsRoutes(monitors, deps);
  });
  void app.register(async (dispatchers) => {
    dispatchers.addHook('onRequest', requireRole(['dispatcher']));
    registerSessionRoutes(dispatchers, deps);
    registerStatusRoutes(dispatchers, deps);
  });
  return app;
}

/** Listens; resolves to the port. @throws CodedError `port_in_use`, `configuration_invalid` that name host and port */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const where = `${host}:${port} (LEMNISCATE_SERVER_HOST, LEMNISCATE_SERVER_PORT)`;
    if (code === 'EADDRINUSE') {
      throw new CodedError(
        'port_in_use',
        `Another program listens on ${where}. Stop it or choose another port.`,
        { port },
      );
    }
    throw new CodedError(
      'configuration_invalid',
      `Cannot listen on ${where}: ${code ?? 'unknown'}.`,
      { port },
      error,
    );
  }
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
