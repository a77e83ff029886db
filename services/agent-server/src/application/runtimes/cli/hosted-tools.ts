import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import type { ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { modelToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { nameOfTool } from '../../tool-calls/remote-names.ts';
import { runToolCall } from '../../tool-calls/run-tool-call.ts';
import { createToolCall } from '../../tool-calls/tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import { cut } from '../../text-stream.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { isPause } from '../../checkpoints/pause-wish.ts';
import { parseArguments, readArguments } from '../../tool-calls/parse-arguments.ts';
import { isToolName } from '@lemniscate/shared/tools/catalogue.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { stopsOnlyLoop } from '../stays.ts';
import { isInterrupt } from '../turn-interrupt.ts';
import { aboutCall } from './about-call.ts';
import type { CutShort } from './cut-short.ts';
import type { CliTalk } from './talk.ts';

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
  /** Those of them that run. */
  calling(): number;
  cancelAll(message: string): void;
  /** The program is put away: what waits for a decision goes on waiting, everything else is canceled. */
  park(stopped: string, askedAgain: string): void;
  /** From now on every request is refused. */
  bar(message: string): void;
  /** Resolves when a decision or a broken bound ends the session; rejects when no decision could be had. */
  readonly ended: Promise<RuntimeEnd>;
}

/** While a person decides nothing is said, and clients give a silent connection up after a few minutes. */
const keepAliveMs = 15_000;

/** Calls that may wait at once; a hostile command could open more. */
const maxOpen = 32;

/** What is under way. */
interface OpenCall {
  readonly toolCall: ToolCall;
  /** Null where its arguments make no sense. */
  readonly wanted: { readonly digest: string; readonly about: string } | null;
}

/** @param talk knows the calls that waited when the program was put away */
export function createHostedTools(context: RuntimeContext, talk: CliTalk, cutShort: CutShort): HostedTools {
  const { sink, order } = context;
  const calls = new Set<OpenCall>();
  const ended = Promise.withResolvers<RuntimeEnd>();
  ended.promise.catch(() => undefined);
  let barred: string | null = null;

  const begin = (name: string, argumentsText: string, claimedId: string | null): OpenCall => {
    const tool = cut(nameOfTool(order, name), 128);
    const parsed = isToolName(name) ? parseArguments(name, argumentsText) : readArguments(argumentsText);
    const wanted = parsed.ok
      ? { digest: argumentsDigest(parsed.input), about: aboutCall(name, parsed.input) }
      : null;
    const waited = wanted === null ? null : talk.waiting.take(tool, wanted.digest);
    if (waited !== null) return { toolCall: waited, wanted };
    const callId = talk.callIds.claim(claimedId ?? 'hosted');
    const identity = { callId, turn: Math.max(1, talk.turn), tool };
    return { toolCall: createToolCall((event) => void sink.emit(event), identity), wanted };
  };

  const call = async (name: string, args: unknown, claimedId: string | null): Promise<CallToolResult> => {
    if (barred !== null) return answer(true, barred);
    if (calls.size >= maxOpen) return answer(true, 'Too many calls at once; ask again when one has ended.');
    const argumentsText = JSON.stringify(args ?? {});
    const open = begin(name, argumentsText, claimedId);
    calls.add(open);
    const deps = {
      ...context,
      commandMaxSeconds: order.commandMaxSeconds,
      commandMaxOutputBytes: order.commandMaxOutputBytes,
      remoteTools: order.remoteTools ?? [],
    };
    try {
      const outcome = await runToolCall(deps, open.toolCall, argumentsText, cutShort.signal());
      if (outcome.kind === 'resume') return answer(outcome.isError, outcome.text);
      if (stopsOnlyLoop(order, talk, outcome)) context.interrupt.ask();
      else ended.resolve(outcome);
      return answer(true, outcome.message);
    } catch (error) {
      if (isPause(error)) return answer(true, 'The session was paused before this was decided.');
      if (isInterrupt(error)) return answer(true, 'The person interrupted.');
      ended.reject(error);
      throw error;
    } finally {
      calls.delete(open);
    }
  };

  return {
    handle: async (request, response) => {
      if ((request.url ?? '').split('?')[0] !== '/mcp') return false;
      if (request.method !== 'POST') {
        response.writeHead(405, { allow: 'POST' }).end();
        return true;
      }
      const server = createServer(toolsOf(order), call);
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
    calling: () => [...calls].filter(({ toolCall }) => toolCall.state() === 'calling').length,
    cancelAll: (message) => {
      for (const { toolCall } of calls) toolCall.cancel(message);
    },
    park: (stopped, askedAgain) => {
      for (const { toolCall, wanted } of calls) {
        if (wanted !== null && toolCall.state() === 'generated') {
          talk.waiting.keep({ call: toolCall, argumentsDigest: wanted.digest, about: wanted.about });
          continue;
        }
        if (wanted !== null && toolCall.state() === 'calling') talk.stopped.push(wanted.about);
        toolCall.cancel(toolCall.state() === 'calling' ? stopped : askedAgain);
      }
      calls.clear();
    },
    bar: (message) => {
      barred = message;
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
  tools: readonly Tool[],
  call: (name: string, args: unknown, claimedId: string | null) => Promise<CallToolResult>,
): Server {
  const server = new Server({ name: 'lemniscate', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const meta = claimedMeta.safeParse(params._meta ?? {});
    const id = meta.success ? (meta.data['claudecode/toolUseId'] ?? meta.data.callId ?? null) : null;
    return call(params.name, params.arguments, id);
  });
  return server;
}

function toolsOf(order: SessionOrder): Tool[] {
  const remote = (order.remoteTools ?? []).map(({ name, description, inputSchema }) => ({
    name: modelToolName(name),
    description: `(Tool of the remote server "${name.split('/')[0]}", in its words:) ${description}`,
    inputSchema: inputSchema as Tool['inputSchema'],
  }));
  return [...order.tools.map(toolDefinition), ...remote];
}

function toolDefinition(name: ToolName): Tool {
  const { description, schema } = toolCatalogue[name];
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema);
  return { name, description, inputSchema: inputSchema as Tool['inputSchema'] };
}

function answer(isError: boolean, text: string): CallToolResult {
  return { isError, content: [{ type: 'text', text: text === '' ? '(no output)' : text.toWellFormed() }] };
}
