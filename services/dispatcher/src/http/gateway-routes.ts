import type { ServerResponse } from 'node:http';
import type { FastifyError, FastifyReply } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toAnthropicError } from '../application/gateway/anthropic-error.ts';
import { authoriseExchange } from '../application/gateway/authorise-exchange.ts';
import { checkExchange } from '../application/gateway/check-exchange.ts';
import type { CheckDeps } from '../application/gateway/check-exchange.ts';
import { relayExchange } from '../application/gateway/relay-exchange.ts';
import type { AnswerSink, RelayDeps } from '../application/gateway/relay-exchange.ts';
import type { App } from './app.ts';
import { hangUpOf } from './attempt-params.ts';
import { serverOf } from './identity.ts';

export type GatewayDeps = RelayDeps & CheckDeps;

/** Longest request to a model: pictures and long histories. Bytes. */
const gatewayBodyLimit = 32 * 1024 * 1024;

/**
 * Internal listener: the model gateway. Its requests are read as bytes, since what is relayed and what is counted must
 * be what was sent; its errors have the provider's shape, since its clients are the provider's.
 */
export function registerGatewayRoutes(app: App, deps: GatewayDeps): void {
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit: gatewayBodyLimit },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      const answer = toAnthropicError(fromFastify(error));
      if (answer.status >= 500)
        request.log.warn({ err: error, request: request.id }, 'a model exchange failed');
      return reply.code(answer.status).send(answer.body);
    });
    scope.post('/model/anthropic/v1/messages', async (request, reply) => {
      const { serverId } = serverOf(request);
      const caller = await authoriseExchange(deps.database, serverId, relayTokenOf(request.headers));
      const exchange = checkExchange(deps, caller, bytesOf(request.body), request.headers);
      await relayExchange(deps, exchange, createSink(reply), hangUpOf(reply));
      return reply;
    });
    done();
  });
}

function relayTokenOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const bearer = /^Bearer (\S+)$/i.exec(String(headers['authorization'] ?? ''))?.[1];
  const token = headers['x-api-key'] ?? bearer;
  if (typeof token === 'string' && token !== '') return token;
  throw new CodedError('unauthenticated', 'The relay token is missing; it belongs into x-api-key.');
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  throw new CodedError('request_invalid', 'The request has no body.');
}

function fromFastify(error: FastifyError): unknown {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new CodedError('payload_too_large', `A request has at most ${gatewayBodyLimit} bytes.`);
  if (error.code?.startsWith('FST_') && (error.statusCode ?? 500) < 500)
    return new CodedError('request_invalid', error.message);
  return error;
}

/** The raw response: chunks go out as they came in, and a slow client holds the provider up, not the memory. */
function createSink(reply: FastifyReply): AnswerSink {
  const { raw } = reply;
  return {
    begin: (status, headers) => {
      reply.hijack();
      raw.writeHead(status, { ...headers, 'x-accel-buffering': 'no' });
      raw.flushHeaders();
    },
    write: (bytes) => (raw.write(bytes) || raw.destroyed ? Promise.resolve() : drained(raw)),
    end: () => void raw.end(),
    cut: () => void raw.destroy(),
  };
}

/** A client that takes nothing for so long is cut. Milliseconds. */
const stallMs = 120_000;

function drained(raw: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => raw.destroy(), stallMs);
  const done = (): void => resolve();
  raw.on('drain', done);
  raw.on('close', done);
  return promise.finally(() => {
    clearTimeout(timer);
    raw.off('drain', done);
    raw.off('close', done);
  });
}
