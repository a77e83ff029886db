import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import type {
  RemoteAnswer,
  RemoteConnection,
  RemoteServer,
  RemoteServers,
} from '../../application/ports/remote-servers.ts';
import type { GuardedFetch } from '../outgoing/guarded-fetch.ts';

/** Pages of a server's list, and tools in all; nobody approves more by hand. */
const maxPages = 10;
const maxTools = 200;

/** A server's schemas of results are a stranger's: they are not compiled, and results are text to us. */
const noValidation = {
  getValidator: () => (input: unknown) => ({
    valid: true as const,
    data: input as never,
    errorMessage: undefined,
  }),
};

/** Remote MCP servers over Streamable HTTP, with the official client. Nothing is kept open between two uses. */
export function createRemoteServers({ fetch }: Pick<GuardedFetch, 'fetch'>): RemoteServers {
  return {
    use: async (server, signal, work) => {
      const client = new Client({ name: 'lemniscate', version: '1' }, { jsonSchemaValidator: noValidation });
      // The client takes a broken stream for one that may come back, and would wait for it.
      const broken = Promise.withResolvers<never>();
      broken.promise.catch(() => undefined);
      const transport = new StreamableHTTPClientTransport(new URL(server.url), {
        fetch: (url, init) => fetch(url, init, broken.reject),
        ...loginOf(server),
        // A broken connection is an answer: whether a call was carried out is not known, and it is not sent again.
        reconnectionOptions: {
          initialReconnectionDelay: 1,
          maxReconnectionDelay: 1,
          reconnectionDelayGrowFactor: 1,
          maxRetries: 0,
        },
      });
      try {
        signal.throwIfAborted();
        const worked = client.connect(transport, { signal }).then(() => work(connection(client, signal)));
        worked.catch(() => undefined);
        return await Promise.race([worked, broken.promise]);
      } catch (error) {
        throw explain(server, error, signal);
      } finally {
        await client.close().catch(() => undefined);
      }
    },
  };
}

function loginOf({ login }: RemoteServer) {
  if (login.kind === 'none') return {};
  if (login.kind === 'token') return { requestInit: { headers: { authorization: `Bearer ${login.token}` } } };
  const { clientId, clientSecret, issuer, scope } = login;
  return {
    authProvider: new ClientCredentialsProvider({
      clientId,
      clientSecret,
      expectedIssuer: issuer,
      ...(scope === undefined ? {} : { scope }),
    }),
  };
}

function connection(client: Client, signal: AbortSignal): RemoteConnection {
  return {
    list: async () => {
      const found: RemoteToolDefinition[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < maxPages && found.length < maxTools; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const answer = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
          signal,
        });
        for (const { name, description, inputSchema } of answer.tools)
          found.push({
            name,
            description: description ?? '',
            inputSchema: jsonObjectSchema.parse(inputSchema),
          });
        cursor = answer.nextCursor;
        if (cursor === undefined) break;
      }
      return found.slice(0, maxTools);
    },
    call: async (tool, args) => {
      const params = { name: tool, arguments: args };
      const result = await client.request({ method: 'tools/call', params }, CallToolResultSchema, {
        signal,
        // The signal bounds it.
        timeout: 600_000,
      });
      return toAnswer(result);
    },
  };
}

/** Words are passed on; of everything else it is said that it was there. */
function toAnswer(result: CallToolResult): RemoteAnswer {
  const parts = result.content.map((part) => {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'image':
      case 'audio':
        return `[${part.type} of type ${part.mimeType}, left out]`;
      case 'resource_link':
        return `[link: ${part.uri}]`;
      case 'resource':
        return 'text' in part.resource
          ? part.resource.text
          : `[resource ${part.resource.uri}, not text, left out]`;
    }
  });
  const text = parts.join('\n');
  const data =
    text === '' && result.structuredContent !== undefined ? JSON.stringify(result.structuredContent) : '';
  return { isError: result.isError === true, text: text + data };
}

/** What it throws goes to a model and a log: no header, no token, nothing of our inside. */
function explain(server: RemoteServer, error: unknown, signal: AbortSignal): unknown {
  const coded = codedCause(error);
  if (coded !== null) return coded;
  const why = signal.aborted ? 'it did not answer in time' : (error as Error).message.slice(0, 300);
  return new CodedError('service_unreachable', `The MCP server "${server.name}" cannot be used: ${why}.`, {
    server: server.name,
  });
}

function codedCause(error: unknown): CodedError | null {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth += 1)
    if (isCodedError(one)) return one;
  return null;
}
