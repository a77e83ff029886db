import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Log } from '../../application/ports/log.ts';
import type { App } from '../app.ts';
import { personOf } from '../identity.ts';
import { sendProblem } from '../problems.ts';
import { traceOf } from '../trace-requests.ts';
import type { McpCaller, McpDeps } from './mcp-caller.ts';
import { mcpPath, registerProtectedResource } from './protected-resource.ts';
import type { ProtectedResourceDeps } from './protected-resource.ts';
import { resumeCall } from './resume-call.ts';
import { registerSessionResources } from './session-resources.ts';
import { registerSessionTools } from './session-tools.ts';
import { readTicket, ticketOf, writeTicket } from './streams.ts';
import type { CallTicket } from './streams.ts';

export type McpRouteDeps = McpDeps & ProtectedResourceDeps & { readonly log: Log };

// The SDK's own schema has transforms that no description can show; what is sent is checked by it below.
const messageSchema = z
  .looseObject({ jsonrpc: z.literal('2.0') })
  .refine((message) => JSONRPCMessageSchema.safeParse(message).success, 'must be one JSON-RPC message');

/**
 * The fleet's tools for other programs: MCP over Streamable HTTP. Each POST is served by itself and the dispatcher keeps
 * nothing between two of them, so any replica takes any request.
 */
export function registerMcpRoutes(app: App, deps: McpRouteDeps): void {
  registerProtectedResource(app, deps);

  app.post(mcpPath, { schema: { body: messageSchema } }, async (request, reply) => {
    refuseForeignOrigin(request);
    requireAccept(request, 'application/json', 'text/event-stream');
    const now = deps.clock.now().getTime();
    const ticket = ticketOf(request.body, () => `mcp_${deps.newId('request')}`, now);
    await serveMessage(deps, request, reply, ticket);
  });

  app.get(mcpPath, async (request, reply) => {
    refuseForeignOrigin(request);
    const last = request.headers['last-event-id'];
    // Nothing is ever said of our own accord: there is no stream to listen to without a call.
    if (last === undefined)
      return sendProblem(
        reply.header('allow', 'POST'),
        new CodedError(
          'method_refused',
          'There is no stream here without a call: POST a message, or send Last-Event-ID to go on.',
        ),
      );
    const now = deps.clock.now().getTime();
    const ticket = typeof last === 'string' ? readTicket(last, now) : null;
    if (ticket === null)
      throw new CodedError('request_invalid', 'Last-Event-ID names no event of this endpoint. Call again.');
    reply.hijack();
    await resumeCall(reply.raw, callerOf(deps, request, ticket), ticket);
    return reply;
  });
}

function callerOf(deps: McpRouteDeps, request: FastifyRequest, ticket: CallTicket | null): McpCaller {
  return {
    deps,
    ticket,
    trace: traceOf(request),
    person: { ...personOf(request), kind: 'automation' },
    refused: (error, told) => {
      if (!isCodedError(error) || error.status >= 500)
        deps.log.warn({ err: error, request: request.id }, 'a call of an MCP tool failed');
      return told;
    },
  };
}

async function serveMessage(
  deps: McpRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  ticket: CallTicket | null,
): Promise<void> {
  const caller = callerOf(deps, request, ticket);
  const server = new McpServer({ name: 'lemniscate', title: 'Lemniscate', version: '1' }, { instructions });
  registerSessionTools(server, caller);
  registerSessionResources(server, caller);
  const transport = new StreamableHTTPServerTransport(ticket === null ? {} : { eventStore: store(ticket) });
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) raw.setHeader(name, value);
  raw.on('close', () => void server.close());
  try {
    await server.connect(transport);
    await transport.handleRequest(request.raw, raw, request.body);
  } catch (error) {
    deps.log.warn({ err: error, request: request.id }, 'an MCP message could not be served');
    raw.destroy();
  }
}

/** Gives every event of the call an id from which the rest can be told again; nothing is stored. */
function store(ticket: CallTicket) {
  let number = 0;
  return {
    storeEvent: () => {
      number += 1;
      return Promise.resolve(writeTicket(ticket, number));
    },
    replayEventsAfter: () => Promise.reject(new Error('a stream is resumed by its own route')),
  };
}

const instructions =
  'Sessions of coding agents. create_session starts one on a repository and answers at once; ask get_session how it stands, or wait. What a session leaves is a diff, which a person accepts; approvals are a person’s too.';

/** A page in a browser that was led here by its address (DNS rebinding) says where it comes from. */
function refuseForeignOrigin(request: FastifyRequest): void {
  const { origin } = request.headers;
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === request.host)) return;
  throw new CodedError('forbidden', `Pages of ${origin.slice(0, 200)} may not speak to this endpoint.`);
}

function requireAccept(request: FastifyRequest, ...types: readonly string[]): void {
  const { accept = '' } = request.headers;
  const missing = types.filter((type) => !accept.includes(type));
  if (missing.length === 0) return;
  throw new CodedError(
    'request_invalid',
    `Accept must name ${types.join(' and ')}; it lacks ${missing.join(' and ')}.`,
  );
}
