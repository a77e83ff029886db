import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';

/** How a server is reached, its secret opened for this one use. */
export interface RemoteServer {
  readonly name: string;
  readonly url: string;
  readonly login:
    | { readonly kind: 'none' }
    | { readonly kind: 'token'; readonly token: string }
    | {
        readonly kind: 'oauth';
        readonly clientId: string;
        readonly clientSecret: string;
        readonly issuer: string;
        readonly scope: string | undefined;
      };
}

/** What a tool answered: text of another party. */
export interface RemoteAnswer {
  readonly isError: boolean;
  readonly text: string;
}

/** A connection to one server, open for a moment. Every method throws what `RemoteServers.use` names. */
export interface RemoteConnection {
  list(): Promise<RemoteToolDefinition[]>;
  call(tool: string, args: JsonObject): Promise<RemoteAnswer>;
}

/** Remote MCP servers, reached from the gateway's side. */
export interface RemoteServers {
  /**
   * Connects, does the work and hangs up, all before the signal.
   * @throws CodedError `service_unreachable` when it cannot be reached, is no MCP server, or says too much;
   *   `forbidden` for an address that is not one of the public internet
   */
  use<Result>(
    server: RemoteServer,
    signal: AbortSignal,
    work: (connection: RemoteConnection) => Promise<Result>,
  ): Promise<Result>;
}
