import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { runToolCall } from '../../tool-calls/run-tool-call.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import { cut } from '../../text-stream.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { createCallIds } from '../native/call-ids.ts';

/**
 * Our tools for a program in the sandbox, as an MCP server on its loopback. Each call takes a permit of its own and is
 * carried out by us: what the program says of it changes nothing. A command in the sandbox can call it too, and gains
 * nothing by it.
 */
export interface HostedTools {
  /** Answers `/mcp`; false: the request was for something else. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Calls under way. */
  open(): number;
  cancelAll(message: string): void;
  /** Resolves when a decision or a broken bound ends the session; rejects when no decision could be had. */
  readonly ended: Promise<RuntimeEnd>;
}

/** While a person decides nothing is said, and clients give a silent connection up after a few minutes. */
const keepAliveMs = 15_000;

/** Calls that may wait at once; a hostile command could open more. */
const maxOpen = 32;

export function createHostedTools(context: RuntimeContext): HostedTools {
  const { sink, order } = context;
  const callIds = createCallIds();
  const calls = new Map<string, ToolCall>();
  const ended = Promise.withResolvers<RuntimeEnd>();
  ended.promise.catch(() => undefined);
  let made = 0;

  const call = async (name: string, args: unknown, claimedId: string | null): Promise<CallToolResult> => {
    if (calls.size >= maxOpen) return answer(true, 'Too many calls at once; ask again when one has ended.');
    made += 1;
    const callId = callIds.claim(claimedId ?? `hosted_${made}`);
    const identity = { callId, turn: made, tool: cut(name, 128) };
    const toolCall = createToolCall((event) => void sink.emit(event), identity);
    calls.set(callId, toolCall);
    const deps = {
      ...context,
      commandMaxSeconds: order.commandMaxSeconds,
      commandMaxOutputBytes: order.commandMaxOutputBytes,
    };
    try {
      const outcome = await runToolCall(deps, toolCall, JSON.stringify(args ?? {}), context.signal);
      if (outcome.kind === 'resume') return answer(outcome.isError, outcome.text);
      ended.resolve(outcome);
      return answer(true, outcome.message);
    } catch (error) {
      ended.reject(error);
      throw error;
    } finally {
      calls.delete(callId);
    }
  };

  return {
    handle: async (request, response) => {
      if ((request.url ?? '').split('?')[0] !== '/mcp') return false;
      if (request.method !== 'POST') {
        response.writeHead(405, { allow: 'POST' }).end();
        return true;
      }
      const server = createServer(order.tools, call);
      const transport = new StreamableHTTPServerTransport({});
      const alive = setInterval(() => {
        if (response.headersSent && !response.writableEnded) response.write(': waiting\n\n');
      }, keepAliveMs);
      response.on('close', () => {
        clearInterval(alive);
        void server.close();
      });
      await server.connect(transport);
      await transport.handleRequest(request, response);
      return true;
    },
    open: () => calls.size,
    cancelAll: (message) => {
      for (const one of calls.values()) one.cancel(message);
    },
    ended: ended.promise,
  };
}

/** Under which name clients tell the model's own id of a call. */
const claimedMeta = z.looseObject({
  'claudecode/toolUseId': z.string().min(1).max(128).optional(),
  callId: z.string().min(1).max(128).optional(),
});

function createServer(
  tools: readonly ToolName[],
  call: (name: string, args: unknown, claimedId: string | null) => Promise<CallToolResult>,
): Server {
  const server = new Server({ name: 'lemniscate', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(toolDefinition) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const meta = claimedMeta.safeParse(params._meta ?? {});
    const id = meta.success ? (meta.data['claudecode/toolUseId'] ?? meta.data.callId ?? null) : null;
    return call(params.name, params.arguments, id);
  });
  return server;
}

function toolDefinition(name: ToolName): Tool {
  const { description, schema } = toolCatalogue[name];
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema);
  return { name, description, inputSchema: inputSchema as Tool['inputSchema'] };
}

function answer(isError: boolean, text: string): CallToolResult {
  return { isError, content: [{ type: 'text', text: text === '' ? '(no output)' : text.toWellFormed() }] };
}
