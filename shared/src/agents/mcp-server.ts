import { z } from 'zod';
import { remoteServerNameSchema, serverToolNameSchema } from '../tools/remote-tool.ts';

/** One of the agent's encrypted credentials; the same form as those that commands get. */
export const credentialReferenceSchema = z
  .string()
  .regex(
    /^vault:[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    'must be vault: and the name of one of the agent’s credentials',
  );

/** How the fleet logs in at a server: with a token as it is, or with one that an authorization server gives for a secret. */
const loginSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('token'), reference: credentialReferenceSchema }),
  z.strictObject({
    kind: z.literal('oauth'),
    clientId: z.string().min(1).max(256),
    /** The client's secret. */
    reference: credentialReferenceSchema,
    /** The authorization server that gave the secret; it is shown to no other, whatever the server names. */
    issuer: z.url().max(512),
    scope: z.string().max(512).optional(),
  }),
]);

/** A remote MCP server whose tools an agent has. It is called by the gateway, never from a sandbox. */
export const mcpServerSchema = z.strictObject({
  name: remoteServerNameSchema,
  url: z
    .url({ protocol: /^https?$/ })
    .max(1024)
    .refine((text) => !URL.canParse(text) || new URL(text).username === '', 'must hold no login'),
  login: loginSchema.optional(),
  /** Names of the tools that it may use, as the server calls them; absent: every one that is approved. */
  tools: z.array(serverToolNameSchema).max(200).optional(),
});
export type McpServer = z.output<typeof mcpServerSchema>;

export const mcpServersSchema = z
  .array(mcpServerSchema)
  .max(20)
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    message: 'name one server twice',
  });
