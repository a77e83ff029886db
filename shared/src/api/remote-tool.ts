import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';
import { sha256Schema } from '../protocol/identity.ts';
import { remoteToolNameSchema } from '../tools/remote-tool.ts';

/**
 * `approved`: sessions have it. `new`: nobody has looked at it. `changed`: the server describes it otherwise than it was
 * approved. `gone`: the server does not have it any more.
 */
export const remoteToolStates = ['approved', 'new', 'changed', 'gone'] as const;

/** A tool of one of an agent's MCP servers, as the server described it when it was last asked. */
export const remoteToolViewSchema = z
  .object({
    name: z.string(),
    server: z.string(),
    state: z.enum(remoteToolStates),
    description: z.string(),
    inputSchema: jsonObjectSchema,
    digest: z.string(),
    approvedDigest: z.string().nullable(),
    approvedBy: z.string().nullable(),
    approvedAt: z.string().nullable(),
    seenAt: z.string(),
  })
  .meta({ id: 'RemoteTool' });
export type RemoteToolView = z.infer<typeof remoteToolViewSchema>;

export const remoteToolListSchema = z.object({
  tools: z.array(remoteToolViewSchema),
  /** Of a look: servers that did not answer, and tools that cannot be used, as sentences. */
  notices: z.array(z.string()).optional(),
});

/** Body of `POST /v1/agents/:agent/remote-tools/approve`: each with the digest that the person saw. */
export const approveRemoteToolsSchema = z.strictObject({
  tools: z
    .array(z.strictObject({ name: remoteToolNameSchema, digest: sha256Schema }))
    .min(1)
    .max(200),
});
