import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';

/** Name of an MCP server within its agent. */
export const remoteServerNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a name of a-z, 0-9 and "-" that begins with a letter');

const toolPattern = /^[A-Za-z0-9_.-]{1,90}$/;

/** A server's own name of a tool. Others exist; they could not be written into a policy. */
export const serverToolNameSchema = z
  .string()
  .regex(toolPattern, 'must be a name of A-Z, 0-9, "_", "." and "-"');

const remotePattern = /^([a-z][a-z0-9-]{0,31})\/([A-Za-z0-9_.-]{1,90})$/;

/** A tool of a remote MCP server as policy, approvals and the audit log call it: `server/tool`. */
export const remoteToolNameSchema = z.string().regex(remotePattern, 'must be "server/tool"');

export function isRemoteToolName(name: string): boolean {
  return remotePattern.test(name);
}

/** @returns null for what is no remote tool's name */
export function splitRemoteToolName(name: string): { readonly server: string; readonly tool: string } | null {
  const match = remotePattern.exec(name);
  return match?.[1] === undefined || match[2] === undefined ? null : { server: match[1], tool: match[2] };
}

/** Names that model providers take have at most so many of these characters. */
const modelNameLength = 64;

/** What a model calls a remote tool. Different tools have different names, however long theirs are. */
export function modelToolName(name: string): string {
  const plain = `mcp__${name.replace('/', '__').replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
  // A server's "_" and "." would fall together: the plain name is only used where nothing was replaced.
  const isExact = /^[a-z0-9-]+\/[A-Za-z0-9_-]+$/.test(name);
  if (isExact && plain.length <= modelNameLength) return plain;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 10);
  return `${plain.slice(0, modelNameLength - mark.length - 1)}_${mark}`;
}

/** A tool as a server describes it. */
export const remoteToolDefinitionSchema = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: jsonObjectSchema,
});
export type RemoteToolDefinition = z.infer<typeof remoteToolDefinitionSchema>;

/** What an approval of a tool is for: name, description and schema of arguments, every byte of them. */
export function remoteToolDigest({ name, description, inputSchema }: RemoteToolDefinition): string {
  return createHash('sha256')
    .update(canonicalize({ name, description, inputSchema }) ?? '')
    .digest('hex');
}
