import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';

/** A real MCP server on loopback, made with the official SDK, whose tools a test can change. */
export interface RemoteMcpServer {
  readonly url: string;
  readonly host: string;
  tools: Tool[];
  onCall: (name: string, args: Record<string, unknown>) => Promise<CallToolResult> | CallToolResult;
  readonly calls: {
    readonly name: string;
    readonly args: unknown;
    readonly authorization: string | undefined;
  }[];
  /** What a caller has to send as its token; null: nothing. */
  token: string | null;
  /** The secret for which the server's own authorization server gives a token; null: it is none. */
  oauth: { readonly clientId: string; readonly secret: string } | null;
  close(): Promise<void>;
}

export async function startRemoteMcpServer(): Promise<RemoteMcpServer> {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = `http://${host}`;
  const self: RemoteMcpServer = {
    url: `${origin}/mcp`,
    host,
    tools: [],
    onCall: () => ({ content: [{ type: 'text', text: 'done' }] }),
    calls: [],
    token: null,
    oauth: null,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (self.oauth !== null && (await authorise(request, response, path, self, origin))) return;
    if (path !== '/mcp' || request.method !== 'POST') return void response.writeHead(405).end();
    const { authorization } = request.headers;
    if (self.token !== null && authorization !== `Bearer ${self.token}`) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      const challenge = self.oauth === null ? 'Bearer' : `Bearer resource_metadata="${metadata}"`;
      return void response.writeHead(401, { 'www-authenticate': challenge }).end();
    }
    const mcp = new Server({ name: 'remote', version: '1' }, { capabilities: { tools: {} } });
    mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: self.tools }));
    mcp.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      self.calls.push({ name: params.name, args: params.arguments, authorization });
      return self.onCall(params.name, params.arguments ?? {});
    });
    const transport = new StreamableHTTPServerTransport({});
    response.on('close', () => void mcp.close());
    await mcp.connect(transport);
    await transport.handleRequest(request, response);
  };
  return self;
}

/** An authorization server that gives tokens for a client's secret. @returns whether it has answered */
async function authorise(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  self: RemoteMcpServer,
  origin: string,
): Promise<boolean> {
  const send = (body: object, status = 200): true => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return true;
  };
  if (path.startsWith('/.well-known/oauth-protected-resource'))
    return send({ resource: self.url, authorization_servers: [origin] });
  if (path.startsWith('/.well-known/'))
    return send({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ['code'],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
    });
  if (path !== '/token') return false;
  const form = new URLSearchParams(await readText(request));
  const wanted = Buffer.from(`${self.oauth?.clientId}:${self.oauth?.secret}`).toString('base64');
  if (request.headers.authorization !== `Basic ${wanted}` || form.get('grant_type') !== 'client_credentials')
    return send({ error: 'invalid_client' }, 401);
  self.token = randomUUID();
  return send({ access_token: self.token, token_type: 'Bearer', expires_in: 60 });
}
