import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { authoriseExchange } from '../application/gateway/authorise-exchange.ts';
import { checkExchange } from '../application/gateway/check-exchange.ts';
import type { CheckDeps } from '../application/gateway/check-exchange.ts';
import { gatewayEndpoints } from '../application/gateway/endpoints.ts';
import { listModels } from '../application/gateway/list-models.ts';
import { relayExchange } from '../application/gateway/relay-exchange.ts';
import type { RelayDeps } from '../application/gateway/relay-exchange.ts';
import { toWireError } from '../application/gateway/wire-error.ts';
import type { ErrorShape } from '../application/gateway/wire-error.ts';
import { modelEndpoints } from '../application/ports/model-provider.ts';
import type { ModelEndpoint } from '../application/ports/model-provider.ts';
import { createAnswerSink } from './answer-sink.ts';
import type { App } from './app.ts';
import { hangUpOf } from './attempt-params.ts';
import { gatewayBodyLimit, gatewayFault } from './gateway-fault.ts';
import { serverOf } from './identity.ts';
import { traceOf } from './trace-requests.ts';

export type GatewayDeps = RelayDeps & CheckDeps;

/**
 * Internal listener: the model gateway. Its requests are read as bytes, since what is relayed and what is counted must
 * be what was sent.
 */
export function registerGatewayRoutes(app: App, deps: GatewayDeps): void {
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit: gatewayBodyLimit },
      (_request, body, parsed) => parsed(null, body),
    );
    for (const name of modelEndpoints) registerEndpoint(scope, deps, name);
    for (const shape of ['anthropic', 'openai'] as const) registerModels(scope, deps, shape);
    done();
  });
}

function registerEndpoint(scope: App, deps: GatewayDeps, name: ModelEndpoint): void {
  const endpoint = gatewayEndpoints[name];
  scope.post(endpoint.path, { errorHandler: inShapeOf(endpoint.errors) }, async (request, reply) => {
    const { serverId } = serverOf(request);
    const caller = await authoriseExchange(deps.database, serverId, relayTokenOf(request.headers));
    const exchange = checkExchange(deps, caller, name, bytesOf(request.body), request.headers);
    await relayExchange(deps, exchange, createAnswerSink(reply), hangUpOf(reply), traceOf(request));
    return reply;
  });
}

/** The models that a token is good for, as the API lists them. */
function registerModels(scope: App, deps: GatewayDeps, shape: ErrorShape): void {
  const path = `/model/${shape}/v1/models`;
  scope.get(path, { errorHandler: inShapeOf(shape) }, async (request) => {
    const { serverId } = serverOf(request);
    const caller = await authoriseExchange(deps.database, serverId, relayTokenOf(request.headers));
    return listModels(deps, caller, shape);
  });
}

/** Errors have the API's shape, since its clients are the API's. */
function inShapeOf(shape: ErrorShape) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const answer = toWireError(gatewayFault(error), shape);
    if (answer.status >= 500)
      request.log.warn({ err: error, request: request.id }, 'a model exchange failed');
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  };
}

function relayTokenOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const bearer = /^Bearer (\S+)$/i.exec(String(headers['authorization'] ?? ''))?.[1];
  const token = headers['x-api-key'] ?? bearer;
  if (typeof token === 'string' && token !== '') return token;
  throw new CodedError(
    'unauthenticated',
    'The relay token is missing; it belongs into x-api-key or authorization.',
  );
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  throw new CodedError('request_invalid', 'The request has no body.');
}
