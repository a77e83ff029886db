import { z } from 'zod';
import { folderFileSchema } from '../agents/folder.ts';
import { credentialReferenceSchema, mcpServersSchema } from '../agents/mcp-server.ts';
import { skillNameSchema } from '../agents/skill-document.ts';
import { toolNames } from '../tools/catalogue.ts';
import { projectOrEverySchema } from './identity.ts';
import { credentialNameSchema } from '../protocol/credential.ts';
import { projectIdSchema } from './project.ts';

/** Ids of agents: they stand in addresses, costs and logs. */
export const agentIdSchema = projectIdSchema;

/** How an agent's memory is kept: not at all, at each session's end, or when a person has looked at it. */
export const memoryModes = ['off', 'auto', 'review'] as const;

/** What an agent is. Everything that is absent is the session's or the project's to say. */
export const agentDefinitionSchema = z.strictObject({
  /** What it is told before every instruction, beside the facts of the sandbox. */
  systemPrompt: z.string().max(32_000).default(''),
  /** Built-in tools that it has, of those that the project's policy allows. Absent: all of these. */
  tools: z.array(z.enum(toolNames)).max(toolNames.length).optional(),
  /** Remote MCP servers whose tools it has beside them, each tool when an administrator has approved it. */
  mcpServers: mcpServersSchema.optional(),
  memory: z.enum(memoryModes).default('off'),
  model: z.string().min(1).max(128).optional(),
  /** Name of the model provider that has to serve its sessions, also where a request names another model. */
  provider: z.string().min(1).max(64).optional(),
  runtime: z.string().min(1).max(64).optional(),
  /** Skills of the project in which it works, by name; the newest version unless one is pinned. */
  skills: z
    .array(z.strictObject({ name: skillNameSchema, version: z.int().min(1).optional() }))
    .max(50)
    .default([]),
  /** Variables that commands get and whose values they are; never a value. The policy has to name each. */
  credentials: z
    .array(
      z.strictObject({
        name: credentialNameSchema,
        /** The encrypted row. Nothing else: whoever may define an agent must not reach the fleet's own files. */
        reference: credentialReferenceSchema,
      }),
    )
    .max(50)
    .default([]),
  /** A disabled agent opens no session. */
  disabled: z.boolean().default(false),
});
export type AgentDefinition = z.output<typeof agentDefinitionSchema>;

/** Body of `POST /v1/agents`. */
export const createAgentSchema = z.strictObject({
  id: agentIdSchema,
  /** Where it works; `*`: in every project. */
  project: projectOrEverySchema,
  definition: agentDefinitionSchema,
});

/** One agent, or one version of it; the ETag is the version in quotes. */
export const agentViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    version: z.int(),
    definition: agentDefinitionSchema,
    digest: z.string(),
    changedBy: z.string(),
    changedAt: z.string(),
  })
  .meta({ id: 'Agent' });
export type AgentView = z.infer<typeof agentViewSchema>;
export const agentListSchema = z.object({ agents: z.array(agentViewSchema) });
export const agentVersionsSchema = z.object({
  versions: z.array(agentViewSchema.omit({ definition: true })),
});

/** Body of `PUT /v1/projects/:id/skills/:skill`: every file, uploaded to the project before. */
export const pushSkillSchema = z.strictObject({ files: z.array(folderFileSchema).min(1).max(1_000) });

export const skillViewSchema = z.object({
  name: z.string(),
  version: z.int(),
  description: z.string(),
  digest: z.string(),
  files: z.array(folderFileSchema),
  pushedBy: z.string(),
  pushedAt: z.string(),
});
export type SkillView = z.infer<typeof skillViewSchema>;
export const skillListSchema = z.object({ skills: z.array(skillViewSchema) });
/** With addresses from which the files can be read for some minutes, by digest. */
export const skillContentSchema = skillViewSchema.extend({ addresses: z.record(z.string(), z.string()) });
