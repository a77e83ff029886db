import type { SecureContextOptions } from 'node:tls';
import swagger from '@fastify/swagger';
import { fastify, LogController } from 'fastify';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { NewId } from '@lemniscate/shared/id.ts';
import { refuseBrokenRequest } from './broken-request.ts';
import { createListenerServer } from './create-server.ts';
import { apiDescription } from './describe-api.ts';
import { sendProblem, setProblemHandlers, toCoded } from './problems.ts';

/** A Fastify application whose routes are described by zod schemas. Every `registerXRoutes` takes one. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Settings of TLS; `ca` present means that callers must show a certificate of ours. */
export interface ListenerTls extends SecureContextOptions {
  readonly clientCertificates: boolean;
}

export interface AppOptions {
  readonly title: string;
  readonly logger: FastifyBaseLogger;
  readonly newId: NewId;
  /** Bytes of a body; a route that needs more says so itself. */
  readonly bodyLimit: number;
  readonly tls: ListenerTls | null;
  /** Addresses and networks of proxies whose word on a caller's address counts. */
  readonly trustedProxies?: readonly string[];
}

/**
 * The frame of a listener: validation and description by zod, problem documents for everything that goes wrong, and
 * a log that knows method, path, status and time but neither headers nor bodies.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { tls } = options;
  const app = fastify({
    loggerInstance: options.logger,
    // Fastify's own lines hold the URL with its query; ours below hold the route.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustedProxies?.length ? [...options.trustedProxies] : false,
    genReqId: () => options.newId('request'),
    // A hostile caller must not choose our request ids.
    requestIdHeader: false,
    // Readers of event streams would hold a closing listener open for ever.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 256 },
    // What Node's parser refuses never becomes a request.
    clientErrorHandler: (error, socket) => refuseBrokenRequest(error, socket),
    // What the router refuses comes before every hook and handler.
    frameworkErrors: (error, _request, reply) => {
      void sendProblem(reply, toCoded(error) ?? error);
    },
    serverFactory: (handler) => createListenerServer(tls, handler),
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  setProblemHandlers(app);
  app.addHook('onResponse', (request, reply, done) => {
    const record = {
      request: request.id,
      method: request.method,
      path: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
    };
    if (reply.statusCode >= 500) request.log.warn(record, 'request failed');
    else request.log.debug(record, 'request');
    done();
  });
  const { openapi } = apiDescription;
  await app.register(swagger, {
    ...apiDescription,
    openapi: { ...openapi, info: { ...openapi.info, title: options.title } },
  });
  return app;
}
